package consent

import (
	"context"
	"errors"
	"fmt"

	"github.com/nvmepass/nvmepass/passthru"
)

// readEnds reads both ends of a namespace by a read-only Device, which is gone
// when it returns.
func readEnds(ctx context.Context, path string) (*ends, error) {
	d, err := passthru.Open(path, &passthru.Config{Depth: 8, AllowIoctl: true})
	if err != nil {
		return nil, err
	}
	l := d.DataLayout()
	e, err := endsOf(ctx, reader{d.ReadAtContext, d.Size(), int(l.Unit()), int(l.LBASize)})
	return e, errors.Join(err, d.Close())
}

// reader reads blocks of unit bytes, of which the first data bytes are data and
// the others metadata.
type reader struct {
	readAt     func(ctx context.Context, p []byte, off int64) (int, error)
	size       int64
	unit, data int
}

func endsOf(ctx context.Context, r reader) (*ends, error) {
	e := &ends{}
	blocks := min(r.size/int64(r.unit), int64((endSize+r.data-1)/r.data))
	e.head = r.read(ctx, 0, blocks, e)
	e.tail = r.read(ctx, r.size/int64(r.unit)-blocks, blocks, e)
	return e, ctx.Err()
}

// pieceBlocks is how much is read at a time: less than any drive's limit.
const pieceBlocks = 8

// read returns the data of blocks. One that cannot be read counts as zeros, and
// is noted.
func (r reader) read(ctx context.Context, first, blocks int64, e *ends) []byte {
	raw := make([]byte, blocks*int64(r.unit))
	if _, err := r.readAt(ctx, raw, first*int64(r.unit)); err != nil {
		r.readPieces(ctx, raw, first, e)
	}
	if r.unit == r.data {
		return raw
	}
	out := make([]byte, 0, blocks*int64(r.data))
	for i := range blocks {
		out = append(out, raw[i*int64(r.unit):][:r.data]...)
	}
	return out
}

func (r reader) readPieces(ctx context.Context, raw []byte, first int64, e *ends) {
	clear(raw)
	size := pieceBlocks * r.unit
	for at := 0; at < len(raw) && ctx.Err() == nil; at += size {
		piece := raw[at:min(at+size, len(raw))]
		if _, err := r.readAt(ctx, piece, first*int64(r.unit)+int64(at)); err != nil {
			clear(piece)
			e.unread = fmt.Sprintf("some of its first or last blocks cannot be read: %v", err)
		}
	}
}
