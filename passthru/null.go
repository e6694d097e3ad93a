package passthru

import (
	"fmt"
	"os"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/nvme"
)

// NullConfig shapes the namespace of OpenNull. The zero value of each field is
// a good default.
type NullConfig struct {
	// Layout is the namespace's; the zero value has blocks of 512 bytes.
	Layout nvme.Layout
	// Blocks is its size in logical blocks; 0 is 2^31.
	Blocks uint64
	// MaxTransfer is the most bytes of one command; 0 is 1 MiB.
	MaxTransfer uint64
	// Config is Open's.
	Config Config
}

// OpenNull opens a Device whose node is /dev/null, which takes every command and
// completes it at once without moving data: what is left in a buffer means
// nothing. Real rings run and real commands are built, with no drive behind
// them, so that the engine's own cost shows and programs can be tried out
// where there is no drive. It needs Linux 6.0 for the ring; there are no poll
// queues, and everything that asks the driver (SMART, a Controller) fails.
func OpenNull(cfg NullConfig) (*Device, error) {
	d, err := openNull(&cfg)
	if err != nil {
		return nil, &OpError{Op: "open", Path: os.DevNull, Err: err}
	}
	return d, nil
}

func openNull(n *NullConfig) (*Device, error) {
	if n.Layout == (nvme.Layout{}) {
		n.Layout.LBASize = 512
	}
	if n.Blocks == 0 {
		n.Blocks = 1 << 31
	}
	if n.MaxTransfer == 0 {
		n.MaxTransfer = 1 << 20
	}
	if err := n.Layout.Validate(); err != nil {
		return nil, err
	}
	checked, err := n.Config.check()
	if err != nil {
		return nil, err
	}
	l := Limits{Blocks: n.Blocks, MaxTransfer: n.MaxTransfer, MDTS: n.MaxTransfer}
	if l.MaxBlocks = blocksPerCommand(n.Layout.UnderPRACT(), l.MaxTransfer); l.MaxBlocks == 0 {
		return nil, fmt.Errorf("a transfer limit of %d bytes: not one block of layout %s fits: use a larger one", n.MaxTransfer, n.Layout)
	}
	d := &Device{
		given: os.DevNull, pair: sysfs.Pair{Generic: os.DevNull}, writable: n.Config.Writable, cfg: checked,
		nsid: 1, layout: n.Layout, limits: l,
		ctrl: &nvme.IdentifyController{MN: "null"}, ns: &nvme.IdentifyNamespace{NSZE: n.Blocks, NCAP: n.Blocks, NUSE: n.Blocks},
	}
	if d.fd, err = sys.OpenDevice(os.DevNull, d.writable, false); err != nil {
		return nil, sysfs.OpenError(os.DevNull, err)
	}
	d.account()
	return d, nil
}
