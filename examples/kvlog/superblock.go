package kvlog

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

const (
	magic        = "nvmeKVlg"
	version      = 1
	superSize    = 64 // bytes of it that mean something
	superblocks  = 2
	blankBytes   = 1 << 20 // that must be zero at the start of what is formatted
	minimumTotal = superblocks + 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// superblock says whose the storage is.
//
//	0   magic
//	8   version
//	12  block size in bytes
//	16  UUID of the log
//	32  generation
//	40  size of the log in bytes
//	60  CRC-32C of bytes 0 to 59
type superblock struct {
	blockSize  uint32
	uuid       [16]byte
	generation uint64 // of the latest opening
	size       uint64
}

func (s *superblock) encode() []byte {
	b := make([]byte, s.blockSize)
	copy(b, magic)
	le := binary.LittleEndian
	le.PutUint32(b[8:], version)
	le.PutUint32(b[12:], s.blockSize)
	copy(b[16:], s.uuid[:])
	le.PutUint64(b[32:], s.generation)
	le.PutUint64(b[40:], s.size)
	le.PutUint32(b[superSize-4:], crc32.Checksum(b[:superSize-4], castagnoli))
	return b
}

// decodeSuperblock returns nil for what is none.
func decodeSuperblock(b []byte) (*superblock, error) {
	le := binary.LittleEndian
	if !bytes.Equal(b[:8], []byte(magic)) || le.Uint32(b[superSize-4:]) != crc32.Checksum(b[:superSize-4], castagnoli) {
		return nil, nil
	}
	if v := le.Uint32(b[8:]); v != version {
		return nil, fmt.Errorf("%w of version %d, but of version %d: use the program that wrote it", ErrNotLog, version, v)
	}
	s := &superblock{blockSize: le.Uint32(b[12:]), generation: le.Uint64(b[32:]), size: le.Uint64(b[40:])}
	copy(s.uuid[:], b[16:])
	return s, nil
}

// readSuperblock returns the newer of the two, or nil if there is none.
func readSuperblock(dev Storage) (*superblock, error) {
	block := dev.BlockSize()
	if block < 2*superSize || block%align != 0 {
		return nil, fmt.Errorf("blocks of %d bytes: need a multiple of %d from %d up", block, align, 2*superSize)
	}
	if dev.Size() < minimumTotal*int64(block) {
		return nil, fmt.Errorf("%d bytes: a log needs at least %d blocks of %d", dev.Size(), minimumTotal, block)
	}
	both := make([]byte, superblocks*block)
	if err := readFull(dev, both, 0); err != nil {
		return nil, err
	}
	var newest *superblock
	for i := range superblocks {
		s, err := decodeSuperblock(both[i*block:][:block])
		if err != nil {
			return nil, err
		}
		if s != nil && (newest == nil || s.generation > newest.generation) {
			newest = s
		}
	}
	if newest == nil {
		return nil, nil
	}
	if int(newest.blockSize) != block || newest.size > uint64(dev.Size()) {
		return nil, fmt.Errorf("a log of %d bytes in blocks of %d, but the storage has %d bytes in blocks of %d: it was formatted anew, or this is a copy",
			newest.size, newest.blockSize, dev.Size(), block)
	}
	return newest, nil
}

// write makes the superblock durable, in the place that its predecessor does
// not have.
func (s *superblock) write(dev Storage) error {
	place := int64(s.generation % superblocks)
	if _, err := dev.WriteAt(s.encode(), place*int64(s.blockSize)); err != nil {
		return fmt.Errorf("write superblock %d: %w", place, err)
	}
	if err := dev.Flush(context.Background()); err != nil {
		return fmt.Errorf("flush superblock %d: %w", place, err)
	}
	return nil
}

// format makes a log where nothing is.
func format(dev Storage) (*superblock, error) {
	start := make([]byte, min(blankBytes, dev.Size()))
	if err := readFull(dev, start, 0); err != nil {
		return nil, err
	}
	for i, c := range start {
		if c != 0 {
			return nil, fmt.Errorf("%w: byte %d is %#02x; if nothing on it is needed, zero its first %d bytes (dd, blkdiscard -z) and format again", ErrNotBlank, i, c, len(start))
		}
	}
	block := int64(dev.BlockSize())
	s := &superblock{blockSize: uint32(block), generation: 1, size: uint64(dev.Size() / block * block)}
	_, _ = rand.Read(s.uuid[:]) // never fails
	return s, s.write(dev)
}
