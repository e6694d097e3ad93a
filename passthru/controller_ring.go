package passthru

import (
	"fmt"

	"github.com/nvmepass/nvmepass/internal/slotio"
	"github.com/nvmepass/nvmepass/nvme"
)

// startRing gives the controller a ring if it can have one, else the reason.
func (c *Controller) startRing(cfg *ControllerConfig) {
	if cfg.NoRing {
		c.noRing = "ControllerConfig.NoRing"
		return
	}
	e := newSlots(adminDepth, nvme.SetAdmin, c.timeoutMS, c.limit)
	e.writable = c.writable
	e.open = func(q *QueueConfig) (*Queue, error) { return c.newQueue(cfg, q) }
	w, err := startWorker(e, e.slots, QueueConfig{BufferSize: adminBuffer})
	if err != nil {
		c.noRing = err.Error()
		return
	}
	e.workers = append(e.workers, w)
	for i := range e.slots {
		e.free.put(i)
	}
	c.ring = e
}

// newQueue makes a worker's queue on the controller's node. Buffers are plain:
// registered ones would save little on commands of this kind.
func (c *Controller) newQueue(cfg *ControllerConfig, o *QueueConfig) (*Queue, error) {
	o.PlainBuffers = true
	q := &Queue{admin: true, built: make([]uint64, o.Depth)}
	core, err := slotio.Open(slotio.File{Path: c.path, Writable: c.writable, Big: true, Kernel: cfg.kernel}, slotio.Options(*o), func(core *slotio.Queue) error {
		q.core = core
		return q.proveAdmin()
	})
	if err != nil {
		return nil, err
	}
	q.core = core
	return q, nil
}

// proveAdmin sends an Identify: a driver older than admin commands on a ring,
// or a kernel that denies them, refuses it.
func (q *Queue) proveAdmin() error {
	cmd, err := nvme.NewIdentify(nvme.CNSController, nvme.IdentifyOptions{})
	if err != nil {
		return err
	}
	if err := q.send(0, &cmd, 0, 0); err != nil {
		return err
	}
	done, err := q.core.One()
	if err != nil {
		return fmt.Errorf("identify to prove the ring: %w", err)
	}
	if done.Res < 0 {
		return resultError(done.Res, done.Result, &cmd, nvme.SetAdmin)
	}
	return nil
}
