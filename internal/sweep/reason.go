package sweep

import (
	"fmt"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/blockio"
	"github.com/nvmepass/nvmepass/internal/syncio"
	"github.com/nvmepass/nvmepass/internal/units"
	"github.com/nvmepass/nvmepass/iopoll"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// namespace is what a plan asks of a *passthru.Device.
type namespace interface {
	Layout() nvme.Layout
	Limits() passthru.Limits
	Poll() iopoll.Support
	BlockPath() string
}

// kernel is what a plan asks of the running kernel.
type kernel struct {
	splitPolled error // see blockio.SplitPolled
	syncPolls   bool  // see syncio.Polls
}

func kernelOf(release string, splitPolled error) kernel {
	return kernel{splitPolled: splitPolled, syncPolls: syncio.Polls(release)}
}

// checkPaths refuses paths on which no size can run.
func checkPaths(d namespace, paths []Path) error {
	for _, p := range paths {
		if p.PolledRing() {
			if err := d.Poll().Check(); err != nil {
				return fmt.Errorf("%s: %w; or sweep without polling: --paths block,passthru,sync", p, err)
			}
		}
		if p.Passthru() {
			continue
		}
		if host := d.Layout().UnderPRACT(); d.BlockPath() == "" || host.Extended && host.MetadataSize > 0 {
			return fmt.Errorf("%s: the kernel's block layer offers no data of a namespace with layout %s: use --paths passthru,passthru-poll", p, d.Layout())
		}
	}
	return nil
}

// unit is the size of a logical block in bytes as all paths but those of the
// block node see it.
func unit(d namespace) uint64 { return uint64(d.Layout().UnderPRACT().Unit()) }

// reason says why a cell is not run, "" for one that is. A read that may never
// complete is not run.
func reason(d namespace, l *Limits, k kernel, c Cell) string {
	if c.Path.Passthru() {
		return passthruReason(d, c.BlockSize)
	}
	lba := uint64(d.Layout().LBASize)
	switch size := uint64(c.BlockSize); {
	case size%lba != 0:
		return fmt.Sprintf("not a multiple of the logical block size %d, as O_DIRECT needs", lba)
	case size/lba > d.Limits().Blocks:
		return fmt.Sprintf("longer than the namespace, which has %d blocks of %d bytes", d.Limits().Blocks, lba)
	case size > blockio.MaxBlocks(lba)*lba:
		return fmt.Sprintf("longer than the %d bytes that one read takes", blockio.MaxBlocks(lba)*lba)
	}
	if l.MaySplit(c.BlockSize) {
		if c.Path == BlockPoll && k.splitPolled != nil {
			return k.splitPolled.Error()
		}
		if c.Path == SyncPoll && k.syncPolls {
			return "the block layer may split this read, and kernels that poll for synchronous reads may then never complete it"
		}
	}
	return ""
}

func passthruReason(d namespace, size int) string {
	host, l := d.Layout().UnderPRACT(), d.Limits()
	blocks, err := host.Blocks(uint64(size))
	switch {
	case err != nil:
		return err.Error()
	case blocks > uint64(l.MaxBlocks):
		return fmt.Sprintf("one command never carries more than %d bytes here (MDTS %s, max_hw_sectors %s), and passthrough is never split", host.DataLen(l.MaxBlocks), sizeOrNone(l.MDTS), sizeOrNone(l.MaxHWSectors))
	case blocks > l.Blocks:
		return fmt.Sprintf("longer than the namespace, which has %d blocks of %d bytes", l.Blocks, host.Unit())
	}
	return ""
}

func sizeOrNone(n uint64) string {
	if n == 0 {
		return "none"
	}
	return units.FormatSize(int64(n))
}

// checkSizes refuses a size that no path can run.
func checkSizes(d namespace, l *Limits, k kernel, cfg *Config) error {
	for _, size := range cfg.Sizes {
		var why string
		for _, p := range cfg.Paths {
			if why = reason(d, l, k, Cell{size, p}); why == "" {
				break
			}
		}
		if why != "" {
			return &badflag.Error{Flag: "--bs-list", Value: units.FormatSize(int64(size)), Problem: "no path can run it: " + why, Remedy: "leave it out, or add another of --paths"}
		}
	}
	return nil
}
