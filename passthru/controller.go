package passthru

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/nvmepass/nvmepass/internal/nvmeioctl"
	"github.com/nvmepass/nvmepass/internal/stall"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/internal/unclosed"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// ControllerConfig says how to open a Controller. nil is the zero value.
type ControllerConfig struct {
	// Writable opens the node for writing as well, and is the consent to
	// change the drive or its settings: without it, everything but Identify,
	// Get Log Page and Get Features is refused with ErrReadOnly.
	Writable bool
	// NoRing sends every command through the driver's synchronous ioctl.
	NoRing bool
	// Timeout is the driver's limit for each command that has none of its
	// own, in whole milliseconds up to 49 days; 0 is the driver's default for
	// admin commands (60 s, nvme_core.admin_timeout). The driver resets the
	// controller if a command takes longer.
	Timeout time.Duration
	// StallLimit bounds how long Close waits, and how long commands on the
	// ring may stay without any completion before the ring is given up. 0 is
	// uringcmd.DefaultStallLimit, or 15 s more than Timeout if that is longer.
	StallLimit time.Duration

	kernel sys.RingKernel // nil but in fault tests
}

// Controller is an NVMe controller, for admin commands. Its methods are safe
// for use by any goroutine.
//
// Commands that only read (Identify, Get Log Page, Get Features) go through a
// ring, where this kernel has io_uring. Those with side effects, by opcode or
// by the drive's Commands Supported and Effects log, go through the
// synchronous ioctl, where the driver freezes queues before and scans
// namespaces again afterwards as the effects demand.
type Controller struct {
	path        string
	mapped      bool
	writable    bool
	identity    *nvme.IdentifyController
	effects     *nvme.EffectsLog // nil if the drive has none, or this process may not read it
	maxTransfer uint64           // 0 for no limit
	timeoutMS   uint32
	limit       time.Duration

	ring   *engine // nil where everything goes by ioctl
	noRing string  // why

	mu    sync.Mutex
	fd    int            // -1 when closed
	calls sync.WaitGroup // ioctls on their way, added to under mu
	mark  *unclosed.Mark
}

var controllers = unclosed.NewKind("Controller")

const (
	// adminDepth is how many commands can be on the ring.
	adminDepth = 4
	// adminBuffer is the size in bytes of their bounce buffers, and the most
	// that is read of a log in one piece: what the driver takes also behind
	// an IOMMU. The limit of the admin queue is not in sysfs.
	adminBuffer = 128 << 10
)

// OpenController opens a controller's node, /dev/nvmeX, or the controller of a
// namespace's node (see Controller.Mapped), with native multipath the first of
// them. Anything else is refused with ErrWrongNode and what to use instead.
func OpenController(path string, cfg *ControllerConfig) (*Controller, error) {
	if cfg == nil {
		cfg = &ControllerConfig{}
	}
	c, err := openController(path, cfg)
	if err != nil {
		return nil, &OpError{Op: "open controller", Path: shorten(path), Err: err}
	}
	return c, nil
}

// Controllers lists the nodes of all NVMe controllers of this machine.
func Controllers() []string { return sysfs.System.ControllerNodes() }

func openController(path string, cfg *ControllerConfig) (*Controller, error) {
	node, err := sysfs.System.Identify(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("no such device; %s", sysfs.System.ControllerAdvice())
		}
		return nil, bare(err)
	}
	nodes := sysfs.System.ControllersOf(node)
	if len(nodes) == 0 {
		return nil, fmt.Errorf("%w, nor a controller of one: it is %s; %s", ErrWrongNode, node.What, sysfs.System.ControllerAdvice())
	}
	c := &Controller{path: nodes[0], mapped: node.Kind != sysfs.Controller, writable: cfg.Writable}
	if err := c.open(cfg); err != nil {
		return nil, err
	}
	return c, nil
}

// open opens c.path and learns what the controller is.
func (c *Controller) open(cfg *ControllerConfig) error {
	var err error
	if c.limit, err = checkTimes(cfg.Timeout, cfg.StallLimit); err != nil {
		return err
	}
	c.timeoutMS = uint32(cfg.Timeout.Milliseconds())
	if c.fd, err = sys.OpenDevice(c.path, cfg.Writable, false); err != nil {
		return denyOpen(sysfs.OpenError(c.path, err))
	}
	c.startRing(cfg)
	if unclosed.On() {
		c.mark = unclosed.Opened(controllers, c, c.path)
	}
	if err := c.learn(); err != nil {
		return errors.Join(err, c.Close())
	}
	return nil
}

// learn reads what commands are checked against.
func (c *Controller) learn() (err error) {
	ctx := context.Background()
	if c.identity, err = c.IdentifyController(ctx); err != nil {
		return fmt.Errorf("read what the controller is: %w", err)
	}
	c.maxTransfer = c.identity.MaxDataTransfer(0)
	if c.identity.LPA.Effects() {
		// Without the log, or the right to read it, the opcode alone decides.
		c.effects, _ = c.Effects(ctx, nvme.SetNVM)
	}
	return nil
}

// Path is the controller's node, which commands go to.
func (c *Controller) Path() string { return c.path }

// Mapped tells whether OpenController was given another node than Path.
func (c *Controller) Mapped() bool { return c.mapped }

// Writable tells whether OpenController was asked for it.
func (c *Controller) Writable() bool { return c.writable }

// Identity is what Identify Controller said at OpenController.
func (c *Controller) Identity() *nvme.IdentifyController { return c.identity }

// MaxTransfer is the most bytes of data in one command by MDTS, 0 for no
// limit. The driver may take less.
func (c *Controller) MaxTransfer() uint64 { return c.maxTransfer }

// Ring tells whether commands that only read go through a ring, and if not,
// why.
func (c *Controller) Ring() (used bool, reason string) { return c.ring != nil, c.noRing }

// readers are the admin commands that change nothing.
var readers = []nvme.Opcode{nvme.AdminIdentify, nvme.AdminGetLogPage, nvme.AdminGetFeatures}

// byRing tells whether a command goes through the ring.
func (c *Controller) byRing(cmd *nvme.Command) bool {
	if c.ring == nil || !slices.Contains(readers, cmd.Opcode) || time.Duration(cmd.TimeoutMS)*time.Millisecond > c.limit {
		return false
	}
	return c.effects == nil || !c.effects.Admin[cmd.Opcode].Intrusive()
}

// Do sends any admin command and returns the 64 bits of its result. data, of
// exactly cmd.DataLen bytes, goes to the drive or comes from it by the
// direction of the opcode; it may be any memory, and is not touched any more
// once Do has returned. Addresses in cmd are ignored.
//
// With ctx done Do returns early, and the command goes on by itself.
func (c *Controller) Do(ctx context.Context, cmd nvme.Command, data []byte) (result uint64, err error) {
	if err = stop(ctx); err == nil {
		err = c.check(&cmd, data)
	}
	if err == nil {
		if cmd.TimeoutMS == 0 {
			cmd.TimeoutMS = c.timeoutMS
		}
		if c.byRing(&cmd) {
			result, err = c.ring.do(ctx, &cmd, data, nil)
		} else {
			result, err = c.doIoctl(ctx, cmd, data)
		}
	}
	if err != nil {
		return result, &OpError{Op: cmd.Opcode.Name(nvme.SetAdmin), Path: c.path, Err: err}
	}
	return result, nil
}

func (c *Controller) check(cmd *nvme.Command, data []byte) error {
	switch {
	case !c.writable && !slices.Contains(readers, cmd.Opcode):
		return fmt.Errorf("%w: it may change the drive or its settings; set ControllerConfig.Writable", ErrReadOnly)
	case cmd.Opcode == nvme.AdminAsyncEvent:
		return errors.New("the driver keeps asynchronous event requests of its own; one more would not end until the driver resets the controller: read the log page that you wait for")
	case uint64(len(data)) != uint64(cmd.DataLen):
		return fmt.Errorf("%d bytes of data for a command that moves %d (data_len): they must agree", len(data), cmd.DataLen)
	case len(data) > nvmeioctl.MaxData:
		return fmt.Errorf("%d bytes of data: the limit is %d; split the command", len(data), nvmeioctl.MaxData)
	case cmd.MetadataLen != 0:
		return fmt.Errorf("%d bytes of metadata: admin commands have none", cmd.MetadataLen)
	}
	return nvme.Check(cmd, nvme.Layout{}, nvme.Limits{Set: nvme.SetAdmin, MaxTransfer: c.maxTransfer})
}

// doIoctl sends a command by the synchronous ioctl, on a goroutine of its own
// so that the caller can leave before it ends.
func (c *Controller) doIoctl(ctx context.Context, cmd nvme.Command, data []byte) (uint64, error) {
	c.mu.Lock()
	fd := c.fd
	if fd < 0 {
		c.mu.Unlock()
		return 0, os.ErrClosed
	}
	c.calls.Add(1)
	c.mu.Unlock()
	type outcome struct {
		result uint64
		err    error
	}
	own := slices.Clone(data) // the caller may have left with its memory
	done := make(chan outcome, 1)
	go func() {
		defer c.calls.Done()
		result, err := nvmeioctl.Admin(fd, cmd, own)
		done <- outcome{result, err}
	}()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case o := <-done:
		if o.err == nil && !cmd.IsWrite() {
			copy(data, own)
		}
		return o.result, deny(o.err, &cmd, nvme.SetAdmin, c.writable)
	}
}

// Close refuses further commands, waits for those in flight, and closes the
// node. If some do not come back within ControllerConfig.StallLimit, their
// memory and the node stay and the error says so. Closing again does nothing.
func (c *Controller) Close() error {
	c.mu.Lock()
	fd := c.fd
	c.fd = -1
	c.mu.Unlock()
	if fd < 0 {
		return nil
	}
	c.mark.Closed()
	var errs []error
	if c.ring != nil {
		errs = append(errs, c.ring.close())
	}
	idle := make(chan struct{})
	go func() {
		c.calls.Wait()
		close(idle)
	}()
	if stall.Wait(idle, c.limit) {
		errs = append(errs, sys.Close(fd))
	} else {
		errs = append(errs, fmt.Errorf("commands by ioctl are still in flight after %v: %w; the node stays open", c.limit, uringcmd.ErrStalled))
	}
	if err := errors.Join(errs...); err != nil {
		return &OpError{Op: "close", Path: c.path, Err: err}
	}
	return nil
}
