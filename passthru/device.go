package passthru

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/nvmepass/nvmepass/internal/nvmeioctl"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/internal/unclosed"
	"github.com/nvmepass/nvmepass/iopoll"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Device is one namespace. Its methods are safe for use by any goroutine.
type Device struct {
	given    string
	mapped   bool // given is not the generic node
	pair     sysfs.Pair
	writable bool

	mu sync.Mutex
	fd int // -1 when closed

	nsid   uint32
	ctrl   *nvme.IdentifyController
	ns     *nvme.IdentifyNamespace
	layout nvme.Layout
	limits Limits
	nvm    nvme.IdentifyNVMController
	poll   iopoll.Support
	set    nvme.CommandSet

	cfg      Config
	starting sync.Mutex
	running  atomic.Pointer[engine] // nil until the first command

	kernel sys.RingKernel // nil but in fault tests
	mark   *unclosed.Mark
}

var devices = unclosed.NewKind("Device")

// Open opens the namespace that a node stands for: a generic node, or a block
// node, which is mapped to the generic node of the same namespace (see
// Device.Mapped). What the node is and its namespace ID come from the kernel,
// never from the path's spelling, so that symbolic links work.
//
// Anything else is refused with ErrWrongNode and what to use instead.
func Open(path string, cfg *Config) (*Device, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	checked, err := cfg.check()
	if err != nil {
		return nil, &OpError{Op: "open", Path: shorten(path), Err: err}
	}
	d, err := open(path, &checked)
	if err != nil {
		return nil, &OpError{Op: "open", Path: shorten(path), Err: err}
	}
	return d, nil
}

// Namespaces lists the generic nodes of all NVMe namespaces of this machine.
func Namespaces() []string {
	var paths []string
	for _, p := range sysfs.System.Namespaces() {
		paths = append(paths, p.Generic)
	}
	return paths
}

func shorten(path string) string {
	if len(path) > 200 {
		return path[:200] + "..."
	}
	if path == "" {
		return `""`
	}
	return path
}

func open(path string, cfg *Config) (*Device, error) {
	complete := sysfs.Watch()
	node, err := sysfs.System.Identify(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("no such device; %s", sysfs.System.Advice(sysfs.Node{}))
		}
		return nil, bare(err)
	}
	if node.Kind != sysfs.Generic && node.Kind != sysfs.Block {
		return nil, fmt.Errorf("%w: it is %s; %s", ErrWrongNode, node.What, sysfs.System.Advice(node))
	}
	pair, err := sysfs.System.PairOf(node, nvmeioctl.NSIDOf)
	if err != nil {
		return nil, denyOpen(err)
	}
	if err := complete(); err != nil {
		return nil, err
	}
	if pair.Generic == "" {
		return nil, fmt.Errorf("%w for passthrough: there is no generic node of %s: %w", ErrWrongNode, node.What, &UnsupportedError{Feature: "the generic node of a namespace", MinimumKernel: "5.13"})
	}
	if !cfg.AllowIoctl {
		if err := uringcmd.Usable(); errors.Is(err, uringcmd.ErrDisabled) || errors.Is(err, uringcmd.ErrNotSupported) {
			return nil, withoutRing(err)
		}
	}
	d := &Device{given: path, mapped: node.Kind == sysfs.Block, pair: pair, writable: cfg.Writable, cfg: *cfg}
	// The generic node refuses O_DIRECT.
	if d.fd, err = sys.OpenDevice(pair.Generic, cfg.Writable, false); err != nil {
		return nil, denyOpen(sysfs.OpenError(pair.Generic, err))
	}
	if err := errors.Join(d.learn(), complete()); err != nil {
		return nil, errors.Join(err, sys.Close(d.fd))
	}
	d.account()
	return d, nil
}

// account notes that d is open.
func (d *Device) account() {
	if unclosed.On() {
		d.mark = unclosed.Opened(devices, d, d.Path())
	}
}

// bare drops a wrapper that repeats the path.
func bare(err error) error {
	if u := errors.Unwrap(err); u != nil {
		return u
	}
	return err
}

// learn reads everything that commands will be checked against.
func (d *Device) learn() error {
	var err error
	if d.nsid, err = nvmeioctl.NSID(d.fd); err != nil {
		return err
	}
	data, err := d.identify(nvme.CNSController, nvme.IdentifyOptions{})
	if err != nil {
		return fmt.Errorf("read what the controller is: %w", err)
	}
	if d.ctrl, err = nvme.DecodeIdentifyController(data); err != nil {
		return err
	}
	if data, err = d.identify(nvme.CNSNamespace, nvme.IdentifyOptions{NSID: d.nsid}); err != nil {
		return fmt.Errorf("read what namespace %d is: %w", d.nsid, err)
	}
	if d.ns, err = nvme.DecodeIdentifyNamespace(data); err != nil {
		return err
	}
	if d.layout, err = d.readLayout(); err != nil {
		return err
	}
	d.set = d.commandSet()
	d.limits = findLimits(d.ctrl, d.ns, d.layout, d.pair.Limits())
	d.limits.MaxAppend = d.appendLimit()
	d.nvm = d.nvmLimits()
	d.poll = iopoll.FindPair(d.given, d.pair)
	return nil
}

// identify reads one Identify data structure; d.mu is held or d not yet shared.
func (d *Device) identify(cns nvme.CNS, o nvme.IdentifyOptions) ([]byte, error) {
	cmd, err := nvme.NewIdentify(cns, o)
	if err != nil {
		return nil, err
	}
	data := make([]byte, nvme.IdentifySize)
	_, err = nvmeioctl.Admin(d.fd, cmd, data)
	return data, deny(err, &cmd, nvme.SetAdmin, d.writable)
}

// commandSet is the namespace's, which only newer controllers tell; the others
// know none but NVM.
func (d *Device) commandSet() nvme.CommandSet {
	data, err := d.identify(nvme.CNSNamespaceDescriptors, nvme.IdentifyOptions{NSID: d.nsid})
	if err == nil {
		if desc, derr := nvme.DecodeNamespaceDescriptors(data); derr == nil {
			return desc.CSI
		}
	}
	// Without rights the kernel denies that Identify; sysfs tells zoned
	// namespaces.
	if d.pair.Limits().Zoned {
		return nvme.SetZNS
	}
	return nvme.SetNVM
}

// appendLimit asks a zoned namespace's controller for its limit. Without an
// answer the drive itself refuses what is above.
func (d *Device) appendLimit() uint64 {
	if d.set != nvme.SetZNS {
		return 0
	}
	data, err := d.identify(nvme.CNSSetController, nvme.IdentifyOptions{CSI: nvme.SetZNS})
	if err != nil {
		return 0
	}
	zns, err := nvme.DecodeIdentifyZNSController(data)
	if err != nil {
		return 0
	}
	return zns.MaxAppend(0)
}

// nvmLimits asks for the controller's limits on commands without data, which
// only newer ones tell; all zero, which means none, if it does not.
func (d *Device) nvmLimits() nvme.IdentifyNVMController {
	data, err := d.identify(nvme.CNSSetController, nvme.IdentifyOptions{CSI: nvme.SetNVM})
	if err == nil {
		if c, derr := nvme.DecodeIdentifyNVMController(data); derr == nil {
			return *c
		}
	}
	return nvme.IdentifyNVMController{}
}

// readLayout asks for the extended formats only where there are some: that
// Identify may need rights that plain reads do not.
func (d *Device) readLayout() (nvme.Layout, error) {
	if !d.ctrl.CTRATT.ExtendedLBAFormats() {
		return d.ns.CurrentLayout()
	}
	data, err := d.identify(nvme.CNSSetNamespace, nvme.IdentifyOptions{NSID: d.nsid})
	if err != nil {
		return d.ns.CurrentLayout()
	}
	x, err := nvme.DecodeIdentifyNVMNamespace(data)
	if err != nil {
		return nvme.Layout{}, err
	}
	return d.ns.LayoutWith(x)
}

// Path is the generic node that commands go to.
func (d *Device) Path() string { return d.pair.Generic }

// BlockPath is the block node of the same namespace, "" if there is none.
func (d *Device) BlockPath() string { return d.pair.Block }

// Mapped tells whether Open was given another node than Path.
func (d *Device) Mapped() bool { return d.mapped }

// NSID is the namespace ID.
func (d *Device) NSID() uint32 { return d.nsid }

// Controller is what Identify Controller said at Open.
func (d *Device) Controller() *nvme.IdentifyController { return d.ctrl }

// Namespace is what Identify Namespace said at Open.
func (d *Device) Namespace() *nvme.IdentifyNamespace { return d.ns }

// Layout says how a logical block lies in memory.
func (d *Device) Layout() nvme.Layout { return d.layout }

// Limits are what one command must keep to.
func (d *Device) Limits() Limits { return d.limits }

// Poll tells whether and how the namespace can be polled.
func (d *Device) Poll() iopoll.Support { return d.poll }

// Writable tells whether Open was asked for it.
func (d *Device) Writable() bool { return d.writable }

// Scheduler is the I/O scheduler of the block node, "" if not known.
func (d *Device) Scheduler() string { return d.pair.Limits().Scheduler }

// NUMANode is the node that the drive is attached to, -1 for none.
func (d *Device) NUMANode() int {
	for _, dir := range d.pair.Controllers() {
		return sysfs.ReadController(dir).NUMANode
	}
	return -1
}

// SMART reads the controller's SMART / Health log. It needs CAP_SYS_ADMIN.
func (d *Device) SMART() (*nvme.SMARTLog, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fd < 0 {
		return nil, &OpError{Op: "read SMART log of", Path: d.Path(), Err: os.ErrClosed}
	}
	data := make([]byte, nvme.SMARTLogSize)
	cmd, err := nvme.NewGetLogPage(nvme.LogSMART, nvme.SMARTLogSize, nvme.LogOptions{NSID: nvme.AllNamespaces})
	if err == nil {
		_, err = nvmeioctl.Admin(d.fd, cmd, data)
		err = deny(err, &cmd, nvme.SetAdmin, d.writable)
	}
	if err != nil {
		return nil, &OpError{Op: "read SMART log of", Path: d.Path(), Err: err}
	}
	return nvme.DecodeSMARTLog(data)
}

func (d *Device) closed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fd < 0
}

// CommandSet is the namespace's command set.
func (d *Device) CommandSet() nvme.CommandSet { return d.set }

// Close refuses further commands, waits for those in flight, and closes the
// node. If some do not come back within Config.StallLimit, it gives up on the
// ring: their callers get an error, the Device's memory stays mapped, and the
// error says so, after at most twice the limit. Queues keep a descriptor of
// their own and are closed by their owners. Closing again does nothing.
func (d *Device) Close() error {
	d.starting.Lock() // no engine starts from here on
	defer d.starting.Unlock()
	if d.closed() {
		return nil
	}
	d.mark.Closed()
	var err error
	inUse := false
	if e := d.running.Load(); e != nil {
		err = e.close()
		inUse = e.givenUp.Load()
	}
	d.mu.Lock()
	fd := d.fd
	d.fd = -1
	d.mu.Unlock()
	if !inUse { // by an ioctl that has not ended, perhaps
		err = errors.Join(err, sys.Close(fd))
	}
	if err != nil {
		return &OpError{Op: "close", Path: d.Path(), Err: err}
	}
	return nil
}
