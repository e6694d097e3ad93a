package kvlog

// recover reads the log from its first record to the last that continues it.
func (l *Log) recover() error {
	w := window{dev: l.dev, end: l.size}
	pos := superblocks * l.block
	generation := uint64(0)
	for pos+headerSize <= l.size {
		b, err := w.bytes(pos, headerSize)
		if err != nil {
			return err
		}
		h := parseHeader(b)
		ok := h.plausible() && h.sequence == l.sequence && h.generation >= generation && h.generation <= l.super.generation &&
			pos+int64(h.size()) <= l.size
		if ok {
			if b, err = w.bytes(pos, h.size()); err != nil {
				return err
			}
			ok = intact(l.seed, b)
		}
		if !ok {
			// Within a block, this is padding or the remains of a torn write,
			// after which a later generation went on in the next block.
			if pos%l.block == 0 {
				break
			}
			pos = roundUp(pos, l.block)
			continue
		}
		l.apply(h.kind, string(b[headerSize:][:h.keyLen]), location{pos, h.size()})
		generation = h.generation
		l.sequence++
		pos += int64(h.stride())
	}
	l.tail = min(roundUp(pos, l.block), l.size)
	l.recovered = l.sequence - 1
	return nil
}

// window reads ahead.
type window struct {
	dev   Storage
	end   int64
	start int64
	buf   []byte
}

const readAhead = 1 << 20

// bytes returns n bytes from pos, which end within the log. They are valid
// until the next call.
func (w *window) bytes(pos int64, n int) ([]byte, error) {
	if pos < w.start || pos+int64(n) > w.start+int64(len(w.buf)) {
		want := min(max(int64(n), readAhead), w.end-pos)
		if int64(cap(w.buf)) < want {
			w.buf = make([]byte, want)
		}
		w.start, w.buf = pos, w.buf[:want]
		if err := readFull(w.dev, w.buf, pos); err != nil {
			return nil, err
		}
	}
	return w.buf[pos-w.start:][:n], nil
}
