package verify

import (
	"errors"
	"syscall"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/ioqueue"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/nvmeioctl"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// queue is what a run needs of a path.
type queue interface {
	Buffer(slot int) []byte
	Read(slot int, slba uint64, nlb uint32) error
	Write(slot int, slba uint64, nlb uint32) error
	Submit(wait int) error
	Take(dst []uringcmd.Completion) int
	Err(c uringcmd.Completion) error
	Close() error
}

// withMetadata is a queue whose slots have separate metadata.
type withMetadata interface{ Metadata(slot int) []byte }

func metadataOf(q queue, slot int) []byte {
	if m, ok := q.(withMetadata); ok {
		return m.Metadata(slot)
	}
	return nil
}

func openQueue(d *passthru.Device, c *Config, p *plan) (queue, error) {
	size := int(p.host.DataLen(p.nlb))
	if c.Path == PathIoctl {
		return openIoctl(d, p, size)
	}
	return ioqueue.Open([]*passthru.Device{d}, ioqueue.Config{Path: iosetup.Path(c.Path), Mode: iosetup.DefaultMode(), Depth: c.QD, BufferSize: size})
}

// ioctlQueue is one synchronous command at a time; its one slot is number 0.
type ioctlQueue struct {
	dev        *passthru.Device
	fd         int
	data, meta *fixedbuf.Arena // meta is nil without separate metadata
	pract      bool
	cmd        nvme.Command
	ready      bool // cmd waits for Submit
	done       []uringcmd.Completion
}

func openIoctl(d *passthru.Device, p *plan, size int) (_ *ioctlQueue, err error) {
	q := &ioctlQueue{dev: d, fd: -1, pract: d.Layout().PI != nvme.PINone && p.host.PI == nvme.PINone}
	defer func() {
		if err != nil {
			err = errors.Join(err, q.Close())
		}
	}()
	if q.fd, err = sys.OpenDevice(d.Path(), d.Writable(), false); err != nil {
		return nil, err
	}
	if q.data, err = fixedbuf.New(fixedbuf.Config{Slots: 1, SlotSize: size}); err != nil {
		return nil, err
	}
	if n := p.host.MetadataLen(p.nlb); n > 0 {
		if q.meta, err = fixedbuf.New(fixedbuf.Config{Slots: 1, SlotSize: int(n)}); err != nil {
			return nil, err
		}
	}
	return q, nil
}

func (q *ioctlQueue) Buffer(slot int) []byte { return q.data.Slot(slot) }

func (q *ioctlQueue) Metadata(slot int) []byte {
	if q.meta == nil {
		return nil
	}
	return q.meta.Slot(slot)
}

func (q *ioctlQueue) Read(slot int, slba uint64, nlb uint32) error {
	return q.set(slot, slba, nlb, nvme.NewRead)
}

func (q *ioctlQueue) Write(slot int, slba uint64, nlb uint32) error {
	return q.set(slot, slba, nlb, nvme.NewWrite)
}

func (q *ioctlQueue) set(slot int, slba uint64, nlb uint32, build func(uint32, nvme.Layout, uint64, uint32, nvme.IOOptions) (nvme.Command, error)) (err error) {
	l := q.dev.Limits()
	q.cmd, err = build(q.dev.NSID(), q.dev.Layout(), slba, nlb, nvme.IOOptions{PRACT: q.pract, Limits: nvme.Limits{Blocks: l.Blocks, MaxTransfer: l.MaxTransfer}})
	if err != nil {
		return err
	}
	q.cmd.Addr = q.data.Addr(slot)
	if q.cmd.MetadataLen > 0 {
		q.cmd.Metadata = q.meta.Addr(slot)
		q.meta.Dirty(slot, int(q.cmd.MetadataLen))
	}
	q.ready = true
	return nil
}

func (q *ioctlQueue) Submit(int) error {
	if q.ready {
		res, result := nvmeioctl.Raw(q.fd, q.cmd)
		q.done, q.ready = append(q.done, uringcmd.Completion{Res: res, Result: result}), false
	}
	return nil
}

func (q *ioctlQueue) Take(dst []uringcmd.Completion) int {
	n := copy(dst, q.done)
	q.done = q.done[:copy(q.done, q.done[n:])]
	return n
}

func (q *ioctlQueue) Err(c uringcmd.Completion) error {
	if c.Res < 0 {
		return &passthru.KernelError{Op: q.cmd.Opcode.Name(q.dev.CommandSet()), NSID: q.cmd.NSID, SLBA: q.cmd.SLBA(), NLB: q.cmd.NLB(), Errno: syscall.Errno(-c.Res)}
	}
	status, _ := nvme.StatusFromResult(c.Res)
	return nvme.NewStatusError(&q.cmd, q.dev.CommandSet(), status, c.Result)
}

func (q *ioctlQueue) Close() error {
	var errs []error
	if q.fd >= 0 {
		errs = append(errs, sys.Close(q.fd))
		q.fd = -1
	}
	for _, a := range []*fixedbuf.Arena{q.data, q.meta} {
		if a != nil {
			errs = append(errs, a.Close())
		}
	}
	q.data, q.meta = nil, nil
	return errors.Join(errs...)
}
