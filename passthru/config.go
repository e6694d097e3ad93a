package passthru

import (
	"fmt"
	"time"

	"github.com/nvmepass/nvmepass/fixedbuf"
)

// Config says how to open a Device. nil is the zero value.
type Config struct {
	// Writable opens the node for writing as well. Without it every command
	// that changes the drive is refused with ErrReadOnly.
	Writable bool

	// The rest concerns the Device's own commands (ReadAt, Do and so on),
	// which any goroutine may send. Queues have a QueueConfig.

	// Depth is how many of them can be in flight; 0 is DefaultDepth.
	Depth int
	// BufferSize is the size in bytes of each one's bounce buffer, a multiple
	// of the layout's unit: larger transfers are split. 0 is
	// DefaultBufferSize, or what one command can move if that is less. Depth
	// times BufferSize is what the Device pins.
	BufferSize int
	// Workers is the number of threads, each with a ring of its own, that
	// share Depth; 0 is 1. Use one for each poll queue, or more if one CPU
	// does not keep up.
	Workers int
	// Poll polls for completions. A worker then keeps a CPU busy while
	// commands are in flight.
	Poll bool
	// HugePages chooses the page size of the buffers.
	HugePages fixedbuf.HugePages
	// AllowIoctl lets commands go through the driver's synchronous ioctls
	// where io_uring is not available (uringcmd.ErrDisabled) or this kernel's
	// is too old (uringcmd.ErrNotSupported): a thread for each command in
	// flight instead of a ring. Without it, Open fails there. Such commands
	// cannot be polled for: with Poll they are refused all the same.
	AllowIoctl bool
	// Timeout is the driver's limit for each command, in whole milliseconds
	// up to 49 days; 0 is the driver's default (30 s). The driver aborts a
	// command that takes longer, and resets the controller if that does not
	// help.
	Timeout time.Duration
	// StallLimit bounds how long Close waits for commands, and how long
	// commands may stay without any completion before the Device gives up on
	// its ring. It is at least Timeout; 0 is uringcmd.DefaultStallLimit, or
	// 15 s more than Timeout if that is longer.
	StallLimit time.Duration
}

// Limits of Config.
const (
	DefaultDepth      = 128
	DefaultBufferSize = 128 << 10
	maxWorkers        = 64
)

// check returns the configuration with defaults in place of zeros, but for
// BufferSize, which depends on the drive, as do its limits.
func (c Config) check() (Config, error) {
	if c.Depth == 0 {
		c.Depth = DefaultDepth
	}
	if c.Workers == 0 {
		c.Workers = 1
	}
	if c.Workers < 1 || c.Workers > maxWorkers {
		return c, fmt.Errorf("Config.Workers %d: need 1 to %d, or 0 for 1", c.Workers, maxWorkers)
	}
	if c.Depth < c.Workers || c.Depth > MaxDepth-c.Workers {
		return c, fmt.Errorf("Config.Depth %d: need %d to %d, at least one for each worker, or 0 for %d", c.Depth, c.Workers, MaxDepth-c.Workers, DefaultDepth)
	}
	if err := checkWorkers(&c); err != nil {
		return c, err
	}
	if c.BufferSize < 0 {
		return c, fmt.Errorf("Config.BufferSize %d is negative: use 0 for the default", c.BufferSize)
	}
	var err error
	c.StallLimit, err = checkTimes(c.Timeout, c.StallLimit)
	return c, err
}
