package cell

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/blockio"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/iopoll"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Set is the devices of one comparison, open and checked.
type Set struct {
	cfg     compare.Config
	devices map[string]*passthru.Device
	leaked  error
	inject  Injection
}

// Open opens the devices of cfg for reading and checks that every planned cell
// can run: nodes, poll queues, block size, processor. A block size of 0 becomes
// one logical block, which is written to cfg. Nothing has been read or written
// when Open fails, beyond Identify.
func Open(cfg *compare.Config) (*Set, error) {
	if _, err := uringcmd.ProbeKernel(); err != nil {
		return nil, err
	}
	s := &Set{devices: map[string]*passthru.Device{}}
	if err := s.open(cfg); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.cfg = *cfg
	return s, nil
}

func (s *Set) open(cfg *compare.Config) error {
	for _, path := range cfg.Devices {
		if s.devices[path] != nil {
			continue
		}
		d, err := passthru.Open(path, nil)
		if err != nil {
			return err
		}
		s.devices[path] = d
	}
	layouts := make([]nvme.Layout, len(cfg.Devices))
	for i, path := range cfg.Devices {
		layouts[i] = s.devices[path].Layout()
	}
	if err := chooseBlockSize(cfg, layouts); err != nil {
		return err
	}
	for _, path := range cfg.Devices {
		if err := check(s.devices[path], cfg); err != nil {
			return &passthru.OpError{Op: "compare on", Path: path, Err: err}
		}
	}
	return checkCPU(cfg)
}

// chooseBlockSize makes a block size of 0 one logical block, if all devices
// agree on one.
func chooseBlockSize(cfg *compare.Config, layouts []nvme.Layout) error {
	if cfg.BlockSize != 0 {
		return nil
	}
	for _, l := range layouts {
		unit := int(l.UnderPRACT().Unit())
		if cfg.BlockSize != 0 && cfg.BlockSize != unit {
			return &badflag.Error{Flag: "--bs", Problem: fmt.Sprintf("the devices have logical blocks of %d and %d bytes", cfg.BlockSize, unit), Remedy: "give one size that is a multiple of both"}
		}
		cfg.BlockSize = unit
	}
	return nil
}

// namespace is what check asks of a *passthru.Device.
type namespace interface {
	Layout() nvme.Layout
	Limits() passthru.Limits
	Poll() iopoll.Support
	BlockPath() string
}

// check looks at one device for all paths that cfg asks for.
func check(d namespace, cfg *compare.Config) error {
	host := d.Layout().UnderPRACT()
	lim := d.Limits()
	for _, p := range cfg.Paths {
		badSize := func(remedy, problem string, args ...any) error {
			return &badflag.Error{Flag: "--bs", Value: fmt.Sprint(cfg.BlockSize), Problem: fmt.Sprintf("%s: ", p) + fmt.Sprintf(problem, args...), Remedy: remedy}
		}
		if p.Polled() {
			if err := d.Poll().Check(); err != nil {
				return fmt.Errorf("%s: %w; or compare without polling: --paths block,passthru", p, err)
			}
		}
		if p.Passthru() {
			blocks, err := host.Blocks(uint64(cfg.BlockSize))
			if err != nil {
				return badSize("give one", "%v", err)
			}
			if blocks > uint64(lim.MaxBlocks) {
				remedy := fmt.Sprintf("use --bs %d or less", host.DataLen(lim.MaxBlocks))
				if lim.MaxBlocks == 0 {
					remedy = "not even one block fits, so compare without passthrough: --paths block,block-poll"
				}
				return badSize(remedy, "one command moves at most %d bytes on this device (MDTS %d, kernel max_hw_sectors %d; 0 is no limit), and passthrough is never split",
					host.DataLen(lim.MaxBlocks), lim.MDTS, lim.MaxHWSectors)
			}
			if blocks > lim.Blocks {
				return badSize("use a smaller --bs", "the namespace has only %d blocks of %d bytes", lim.Blocks, host.Unit())
			}
			continue
		}
		if d.BlockPath() == "" {
			return fmt.Errorf("%s: the namespace has no block node (layout %s): use --paths passthru,passthru-poll", p, d.Layout())
		}
		if host.Extended && host.MetadataSize > 0 {
			return fmt.Errorf("%s: the kernel's block layer offers no data of a namespace with layout %s, which has metadata between the blocks: use --paths passthru,passthru-poll", p, d.Layout())
		}
		lba := int(d.Layout().LBASize)
		if cfg.BlockSize%lba != 0 {
			return badSize("give one", "O_DIRECT needs a multiple of the logical block size %d", lba)
		}
		if n, most := uint64(cfg.BlockSize/lba), min(blockio.MaxBlocks(uint64(lba)), lim.Blocks); n > most {
			return badSize(fmt.Sprintf("use --bs %d or less", most*uint64(lba)), "one read takes at most %d blocks of %d bytes (the namespace has %d)", most, lba, lim.Blocks)
		}
		if most := blockio.Unsplit(lim); p.Polled() && uint64(cfg.BlockSize) > most {
			return badSize(fmt.Sprintf("use --bs %d or less, or leave out %s", most/uint64(lba)*uint64(lba), p),
				"the block layer may split a read of more than %d bytes here (max_hw_sectors %d bytes, max_segments %d), and then does not poll for it; some kernels, such as 6.1, never complete it",
				most, lim.MaxHWSectors, lim.MaxSegments)
		}
	}
	return nil
}

func checkCPU(cfg *compare.Config) error {
	if cfg.CPU == nil {
		return nil
	}
	cpus, err := sys.AllowedCPUs()
	if err != nil {
		return fmt.Errorf("find the CPUs that this process may use: %w", err)
	}
	if !slices.Contains(cpus, *cfg.CPU) {
		return &badflag.Error{Flag: "--cpu", Value: fmt.Sprint(*cfg.CPU), Problem: fmt.Sprintf("this process may use %v", cpus), Remedy: "choose one of them"}
	}
	return nil
}

// Leaked says which cells left commands with the kernel for good, nil if none
// did: also a cell that an interruption cut short.
func (s *Set) Leaked() error { return s.leaked }

// Device is the open device that was given as path.
func (s *Set) Device(path string) *passthru.Device { return s.devices[path] }

// Close closes all devices.
func (s *Set) Close() error {
	var errs []error
	for _, d := range s.devices {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}
