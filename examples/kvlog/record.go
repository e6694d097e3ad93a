package kvlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Limits in bytes.
const (
	MaxKey   = 4 << 10
	MaxValue = 1 << 20
)

const (
	headerSize = 32
	align      = 8
)

type kind uint8

const (
	kindPadding kind = iota // no record: the rest of the block is empty
	kindPut
	kindDelete
)

// header describes a record; see the package comment for its place in memory.
type header struct {
	kind       kind
	keyLen     int
	valueLen   int
	generation uint64
	sequence   uint64
}

func parseHeader(b []byte) header {
	le := binary.LittleEndian
	return header{
		kind: kind(b[4]), keyLen: int(le.Uint16(b[6:])), valueLen: int(le.Uint32(b[8:])),
		generation: le.Uint64(b[16:]), sequence: le.Uint64(b[24:]),
	}
}

// plausible keeps lengths that no record has from being believed.
func (h *header) plausible() bool {
	return (h.kind == kindPut || h.kind == kindDelete && h.valueLen == 0) &&
		h.keyLen >= 1 && h.keyLen <= MaxKey && h.valueLen >= 0 && h.valueLen <= MaxValue
}

// size is the length in bytes of the record, stride the distance to the next.
func (h *header) size() int   { return headerSize + h.keyLen + h.valueLen }
func (h *header) stride() int { return int(roundUp(int64(h.size()), align)) }

// appendRecord appends a record and zeros up to its stride. seed is the
// checksum of the log's UUID.
func appendRecord(b []byte, seed uint32, h header, key string, value []byte) []byte {
	start := len(b)
	le := binary.LittleEndian
	b = append(b, 0, 0, 0, 0, byte(h.kind), 0)
	b = le.AppendUint16(b, uint16(h.keyLen))
	b = le.AppendUint32(b, uint32(h.valueLen))
	b = le.AppendUint32(b, 0)
	b = le.AppendUint64(b, h.generation)
	b = le.AppendUint64(b, h.sequence)
	b = append(b, key...)
	b = append(b, value...)
	le.PutUint32(b[start:], checksum(seed, b[start:]))
	return append(b, make([]byte, h.stride()-h.size())...)
}

// checksum is that of a whole record, without the place where it stands.
func checksum(seed uint32, record []byte) uint32 {
	return crc32.Update(seed, castagnoli, record[4:])
}

func intact(seed uint32, record []byte) bool {
	return binary.LittleEndian.Uint32(record) == checksum(seed, record)
}

func checkSizes(key string, value []byte) error {
	switch {
	case key == "":
		return ErrEmptyKey
	case len(key) > MaxKey:
		return fmt.Errorf("key of %d bytes: %w: at most %d", len(key), ErrTooLarge, MaxKey)
	case len(value) > MaxValue:
		return fmt.Errorf("value of %d bytes: %w: at most %d; split it over several keys", len(value), ErrTooLarge, MaxValue)
	}
	return nil
}
