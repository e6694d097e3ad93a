package passthru

import (
	"context"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/nvmeioctl"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/nvme"
)

// lone carries a transfer that is the only one on its way by the driver's
// synchronous ioctl, straight from or into the caller's memory. With nobody to
// share a system call with, handing it to a worker would only cost two changes of
// thread and a copy. ok is false if it has to go by ring: because it takes more
// than one command, because ctx may end, which an ioctl does not notice, or
// because the kernel cannot take the memory as it lies.
func (e *engine) lone(ctx context.Context, op nvme.Opcode, v *vector, total, off int64) (n int, ok bool, err error) {
	unit := int64(e.dev.layout.UnderPRACT().Unit())
	if e.byRingOnly.Load() || ctx.Done() != nil || v.many != nil || off%unit != 0 || total%unit != 0 || total > e.loneBytes {
		return 0, false, nil
	}
	cmd, err := e.loneCommand(op, uint64(off/unit), uint32(total/unit))
	if err != nil || cmd.MetadataLen != 0 {
		return 0, false, nil // the ring's path says what is wrong with it
	}
	i, err := e.acquire(ctx) // so that Close waits
	if err != nil {
		return 0, true, err
	}
	defer e.release(i)
	cmd.TimeoutMS = e.timeout
	s := &e.slots[i]
	p := v.one[:total]
	s.memory = &p[0] // on the heap by that, where nothing moves, as for readv's buffers
	res, result := nvmeioctl.RawAt(e.fd, cmd, p)
	s.memory = nil
	switch syscall.Errno(-res) {
	case syscall.EINVAL, syscall.ENOMEM, syscall.EFAULT:
		return 0, false, nil
	case syscall.ENOTTY, syscall.EPERM, syscall.EACCES:
		e.byRingOnly.Store(true)
		return 0, false, nil
	}
	if err := deny(e.dev.missing(resultError(res, result, &cmd, e.set)), &cmd, e.set, e.writable); err != nil {
		return 0, true, err
	}
	return int(total), true, nil
}

// loneCommand is a read or write within the namespace of at most loneBytes. Of
// blocks without metadata, only place and length differ from one to the next.
func (e *engine) loneCommand(op nvme.Opcode, slba uint64, nlb uint32) (nvme.Command, error) {
	build, plain := nvme.NewRead, &e.plain[0]
	if op == nvme.OpWrite {
		build, plain = nvme.NewWrite, &e.plain[1]
	}
	if plain.DataLen == 0 {
		return build(e.dev.nsid, e.dev.layout, slba, nlb, e.options())
	}
	cmd := *plain
	cmd.CDW10, cmd.CDW11 = uint32(slba), uint32(slba>>32)
	cmd.CDW12 |= nlb - 1
	cmd.DataLen *= nlb
	return cmd, nil
}

// loneLimit is the longest transfer that goes by ioctl: above, the hand-over to
// a worker does not matter any more, and its own buffers are sure to fit.
const loneLimit = 128 << 10

// findLone sets how long a lone transfer may be: what one command moves, from
// memory that may begin anywhere in a page.
func (e *engine) findLone(cfg *Config) {
	if cfg.Poll || e.ioctl != nil || !driverAnswers(cfg.Timeout, e.limit) {
		return // polled completions are asked for, everything goes by ioctl, or a ring keeps the stall limit
	}
	d := e.dev
	most := uint64(loneLimit)
	if d.limits.MaxTransfer != 0 {
		most = min(most, d.limits.MaxTransfer)
	}
	if sure := d.limits.sureBytes(); sure != 0 {
		most = min(most, sure)
	}
	most -= uint64(sys.PageSize())
	e.loneBytes = int64(min(most, d.layout.UnderPRACT().DataLen(e.blocks))) // Config.BufferSize holds here as well
	if d.layout.MetadataSize == 0 {
		e.plain[0], _ = nvme.NewRead(d.nsid, d.layout, 0, 1, e.options())
		e.plain[1], _ = nvme.NewWrite(d.nsid, d.layout, 0, 1, e.options())
	}
}
