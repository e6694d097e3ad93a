package kvlog

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// Storage is what a Log needs of a drive. Its methods are called from several
// goroutines at a time.
type Storage interface {
	io.ReaderAt // any offset and length
	io.WriterAt // whole blocks only
	// Flush makes every write that has completed durable.
	Flush(ctx context.Context) error
	// Size is the size in bytes, whole blocks.
	Size() int64
	// BlockSize is the size in bytes of what is written at least; a multiple
	// of 8 from 128 up.
	BlockSize() int
}

type drive struct{ *passthru.Device }

// BlockSize implements Storage.
func (d drive) BlockSize() int { return int(d.DataLayout().Unit()) }

// OnDevice makes a namespace a Storage. It refuses one that cannot be written
// in place block by block, or with metadata that reaches the host: it would
// have to be filled with care.
func OnDevice(d *passthru.Device) (Storage, error) {
	var err error
	switch {
	case d.CommandSet() != nvme.SetNVM:
		err = fmt.Errorf("command set %v: the log needs the NVM command set, whose blocks can be written in any order", d.CommandSet())
	case d.DataLayout().MetadataSize != 0:
		err = fmt.Errorf("layout %s: format the namespace without metadata, or with nothing but protection information", d.Layout())
	case !d.Writable():
		err = fmt.Errorf("%w: set Config.Writable", passthru.ErrReadOnly)
	}
	if err != nil {
		return nil, fmt.Errorf("key-value log on %s: %w", d.Path(), err)
	}
	return drive{d}, nil
}

// readFull fills b from off. An end of file right behind b is none.
func readFull(s Storage, b []byte, off int64) error {
	n, err := s.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return fmt.Errorf("read %d bytes at %d: only %d came: %w", len(b), off, n, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("read %d bytes at %d: %w", len(b), off, err)
}

func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }
