package passthru

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/nvmepass/nvmepass/nvme"
)

// Offsets and lengths of the byte-wise methods count the data buffers' bytes:
// block n starts at n times the unit of Device.DataLayout. That is the block's
// data, and with an extended layout its metadata as well.

var (
	_ io.ReaderAt = (*Device)(nil)
	_ io.WriterAt = (*Device)(nil)
)

// DataLayout is how blocks lie in the data of the byte-wise methods: the
// namespace's layout, less protection information that the controller inserts
// and strips (PRACT).
func (d *Device) DataLayout() nvme.Layout { return d.layout.UnderPRACT() }

// Size is the size of the namespace in the bytes that ReadAt and WriteAt count.
// Of a namespace above 2^63-1 bytes it is the whole blocks that such offsets
// reach.
func (d *Device) Size() int64 {
	unit := uint64(d.layout.UnderPRACT().Unit())
	return int64(min(d.limits.Blocks, math.MaxInt64/unit) * unit)
}

// ReadAt reads len(p) bytes from off: any length, any offset, any memory. Reads
// beyond one command are split and run at the same time. As io.ReaderAt has it,
// n is less than len(p) only with an error, io.EOF at the end of the namespace.
func (d *Device) ReadAt(p []byte, off int64) (n int, err error) {
	return d.ReadAtContext(context.Background(), p, off)
}

// ReadAtContext is ReadAt that returns early when ctx is done. Commands in
// flight then go on by themselves, into memory of the Device: p is not touched
// any more.
func (d *Device) ReadAtContext(ctx context.Context, p []byte, off int64) (n int, err error) {
	return d.transfer(ctx, nvme.OpRead, oneVector(p), off)
}

// ReadVAtContext reads into the buffers in turn, as one transfer.
func (d *Device) ReadVAtContext(ctx context.Context, bufs [][]byte, off int64) (n int, err error) {
	return d.transfer(ctx, nvme.OpRead, vector{many: bufs}, off)
}

// WriteAt writes len(p) bytes at off; both must be multiples of the unit of
// DataLayout, because a part of a block cannot be written. Writes beyond one
// command are split and run at the same time: they are not atomic, and if one
// fails, later parts may have been written. n counts what was written from the
// start without a gap. Nothing is written if the range passes the namespace's
// end. Flush makes it durable.
//
// Separate metadata that the host has to provide is written as zeros: use
// WriteBlocks where it matters.
//
// In a zoned namespace, where writes go to a zone's write pointer and may not
// overtake each other, the commands run one after another.
func (d *Device) WriteAt(p []byte, off int64) (n int, err error) {
	return d.WriteAtContext(context.Background(), p, off)
}

// WriteAtContext is WriteAt that returns early when ctx is done. Commands in
// flight then go on by themselves with a copy of p: whether they were carried
// out is not known. The error then matches ctx's, also if another command had
// failed before.
func (d *Device) WriteAtContext(ctx context.Context, p []byte, off int64) (n int, err error) {
	return d.transfer(ctx, nvme.OpWrite, oneVector(p), off)
}

// WriteVAtContext writes the buffers in turn, as one transfer.
func (d *Device) WriteVAtContext(ctx context.Context, bufs [][]byte, off int64) (n int, err error) {
	return d.transfer(ctx, nvme.OpWrite, vector{many: bufs}, off)
}

// vector is the caller's memory: one buffer, or several.
type vector struct {
	one  []byte
	many [][]byte
}

func oneVector(p []byte) vector { return vector{one: p} }

func (v *vector) len() int64 {
	n := int64(len(v.one))
	for _, b := range v.many {
		n += int64(len(b))
	}
	return n
}

// copy moves bytes between the vector, from position pos on, and b.
func (v *vector) copy(pos int64, b []byte, toVector bool) {
	if v.many == nil {
		move(v.one[pos:], b, toVector)
		return
	}
	for _, part := range v.many {
		if pos >= int64(len(part)) {
			pos -= int64(len(part))
			continue
		}
		n := move(part[pos:], b, toVector)
		if b = b[n:]; len(b) == 0 {
			return
		}
		pos = 0
	}
}

func move(part, b []byte, toPart bool) int {
	if toPart {
		return copy(part, b)
	}
	return copy(b, part)
}

// maxPieces bounds how many commands of one transfer are in flight at a time,
// so that a large one does not crowd out all others.
const maxPieces = 16

// piece is one command of a transfer: size bytes of the vector at pos, which
// lie in the slot's buffer from skip on.
type piece struct {
	slot int
	skip int
	size int
	pos  int64
}

// transfer splits, sends, waits in order, and copies.
func (d *Device) transfer(ctx context.Context, op nvme.Opcode, v vector, off int64) (n int, err error) {
	total, atEnd := int64(0), false
	if err = stop(ctx); err == nil {
		total, atEnd, err = d.checkRange(op, v.len(), off)
	}
	switch {
	case err != nil:
	case total > 0:
		var e *engine
		if e, err = d.engine(ctx); err == nil {
			n, err = e.transfer(ctx, op, &v, total, off)
		}
	case d.closed():
		err = os.ErrClosed
	}
	switch {
	case err != nil:
		return n, &OpError{Op: transferNames[op], Path: d.Path(), Err: err}
	case atEnd:
		return n, io.EOF
	}
	return n, nil
}

var transferNames = map[nvme.Opcode]string{nvme.OpRead: "read", nvme.OpWrite: "write"}

// checkRange says how many bytes can be moved, and whether the namespace's end
// cut them short, which only a read allows.
func (d *Device) checkRange(op nvme.Opcode, length, off int64) (total int64, atEnd bool, err error) {
	size, unit := d.Size(), int64(d.layout.UnderPRACT().Unit())
	if off < 0 {
		return 0, false, fmt.Errorf("offset %d is negative", off)
	}
	if op == nvme.OpRead {
		if length > size-off {
			return max(0, size-off), true, nil
		}
		return length, false, nil
	}
	switch {
	case !d.writable:
		return 0, false, fmt.Errorf("%w: set Config.Writable", ErrReadOnly)
	case off%unit != 0 || length%unit != 0:
		return 0, false, fmt.Errorf("%d bytes at offset %d: both must be multiples of the block size %s; read, change and write whole blocks", length, off, unitText(d.layout.UnderPRACT()))
	case length > size-off:
		return 0, false, fmt.Errorf("%d bytes at offset %d pass the end of the namespace at %d", length, off, size)
	}
	return length, false, nil
}

func unitText(l nvme.Layout) string {
	if l.Extended && l.MetadataSize > 0 {
		return fmt.Sprintf("%d (%d data + %d metadata)", l.Unit(), l.LBASize, l.MetadataSize)
	}
	return fmt.Sprint(l.Unit())
}

func (e *engine) transfer(ctx context.Context, op nvme.Opcode, v *vector, total, off int64) (n int, err error) {
	alone := e.transfers.Add(1) == 1
	defer e.transfers.Add(-1)
	if alone {
		if n, ok, err := e.lone(ctx, op, v, total, off); ok {
			return n, err
		}
	}
	var ring [maxPieces]piece // in flight, oldest at head
	head, inFlight := 0, 0
	most := maxPieces
	if op == nvme.OpWrite && e.dev.set == nvme.SetZNS {
		most = 1
	}
	next := int64(0) // position of the first byte not yet sent
	gap := false     // a command has failed
	for {
		for err == nil && next < total && inFlight < most {
			// Without one free, go on with one of our own instead of waiting for
			// others.
			slot, nerr := e.next(ctx, inFlight == 0)
			if err = nerr; err != nil || slot < 0 {
				break
			}
			p := &ring[(head+inFlight)%maxPieces]
			if *p, err = e.send(op, slot, v, next, total, off); err != nil {
				e.release(slot)
				break
			}
			next += int64(p.size)
			inFlight++
		}
		if inFlight == 0 {
			return n, err
		}
		p := &ring[head]
		head, inFlight = (head+1)%maxPieces, inFlight-1
		held, werr := e.wait(ctx, p.slot)
		switch {
		case gap && !held && !errors.Is(err, werr): // no other error would tell that something may still land
			err = fmt.Errorf("%w; commands behind it go on by themselves: %w", err, werr)
		case gap:
		case werr != nil:
			gap, err = true, werr // of the first byte that was not moved
		default:
			if op == nvme.OpRead {
				v.copy(p.pos, e.data(p.slot)[p.skip:p.skip+p.size], true)
			}
			n += p.size
		}
		if held {
			e.release(p.slot)
		}
	}
}

// send starts the command for the bytes from pos on.
func (e *engine) send(op nvme.Opcode, slot int, v *vector, pos, total, off int64) (piece, error) {
	unit := int64(e.dev.layout.UnderPRACT().Unit())
	start := off + pos
	p := piece{slot: slot, pos: pos, skip: int(start % unit)}
	p.size = int(min(total-pos, int64(e.blocks)*unit-int64(p.skip)))
	nlb := uint32((int64(p.skip) + int64(p.size) + unit - 1) / unit)
	s := &e.slots[slot]
	options := e.options()
	var err error
	if op == nvme.OpRead {
		s.cmd, err = nvme.NewRead(e.dev.nsid, e.dev.layout, uint64(start/unit), nlb, options)
	} else {
		v.copy(pos, e.data(slot)[:p.size], false)
		s.cmd, err = nvme.NewWrite(e.dev.nsid, e.dev.layout, uint64(start/unit), nlb, options)
	}
	if err != nil {
		return p, err
	}
	if s.cmd.MetadataLen > 0 && op == nvme.OpWrite {
		clear(e.metadata(slot)[:s.cmd.MetadataLen])
	}
	e.start(slot)
	return p, nil
}

// options are those of the byte-wise methods.
func (e *engine) options() nvme.IOOptions {
	d := e.dev
	return nvme.IOOptions{
		PRACT:  d.layout.PI != nvme.PINone && d.layout.UnderPRACT().PI == nvme.PINone,
		Limits: d.checks(),
	}
}

// checks is what commands of this namespace are held against.
func (d *Device) checks() nvme.Limits {
	return nvme.Limits{Set: d.set, NSID: d.nsid, Blocks: d.limits.Blocks, MaxTransfer: d.limits.MaxTransfer, MaxAppend: d.limits.MaxAppend}
}
