package verify

import (
	"bytes"
	"encoding/binary"

	"github.com/nvmepass/nvmepass/nvme"
)

// Sizes in bytes and places of the format.
const (
	SectorSize = 512
	fillStart  = 32
	crcPlace   = SectorSize - 4
	version    = 1
)

var magic = [8]byte{'n', 'v', 'm', 'e', 'p', 'a', 's', 's'}

// Stamp says what a sector is.
type Stamp struct {
	LBA        uint64 `json:"lba"`
	Seed       uint64 `json:"seed"`
	Generation uint32 `json:"generation"`
	// Sector is its number within the block.
	Sector uint16 `json:"sector"`
}

// mix is a step of splitmix64 (Steele, Lea and Flood, 2014).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

const golden = 0x9e3779b97f4a7c15

// start is where a stamp's sequence begins: every field changes all of it.
func (s *Stamp) start() uint64 {
	return mix(mix(mix(s.LBA+golden)^s.Seed) + uint64(s.Generation)<<16 + uint64(s.Sector))
}

// put writes the sector into b, SectorSize bytes.
func (s *Stamp) put(b []byte) {
	_ = b[SectorSize-1]
	copy(b, magic[:])
	binary.LittleEndian.PutUint64(b[8:], s.LBA)
	binary.LittleEndian.PutUint64(b[16:], s.Seed)
	binary.LittleEndian.PutUint32(b[24:], s.Generation)
	binary.LittleEndian.PutUint16(b[28:], s.Sector)
	binary.LittleEndian.PutUint16(b[30:], version)
	x := s.start()
	i := fillStart
	for ; i+8 <= crcPlace; i += 8 {
		x += golden
		binary.LittleEndian.PutUint64(b[i:], mix(x))
	}
	binary.LittleEndian.PutUint32(b[i:], uint32(mix(x+golden)))
	binary.LittleEndian.PutUint32(b[crcPlace:], nvme.CRC32C(0, b[:crcPlace]))
}

// read decodes a sector; ok says that magic, version and checksum fit.
func read(b []byte) (s Stamp, marked, ok bool) {
	if len(b) < SectorSize || !bytes.Equal(b[:8], magic[:]) || binary.LittleEndian.Uint16(b[30:]) != version {
		return s, false, false
	}
	s = Stamp{
		LBA: binary.LittleEndian.Uint64(b[8:]), Seed: binary.LittleEndian.Uint64(b[16:]),
		Generation: binary.LittleEndian.Uint32(b[24:]), Sector: binary.LittleEndian.Uint16(b[28:]),
	}
	return s, true, binary.LittleEndian.Uint32(b[crcPlace:]) == nvme.CRC32C(0, b[:crcPlace])
}

// FillBlock writes the data of a block into b, a multiple of SectorSize bytes.
func FillBlock(b []byte, lba, seed uint64, generation uint32) {
	s := Stamp{LBA: lba, Seed: seed, Generation: generation}
	for ; len(b) >= SectorSize; b = b[SectorSize:] {
		s.put(b)
		s.Sector++
	}
}

// fillMetadata writes the metadata of a block into b, of any length.
func fillMetadata(b []byte, lba, seed uint64, generation uint32) {
	s := Stamp{LBA: lba, Seed: seed, Generation: generation, Sector: 0xffff}
	x := s.start()
	for len(b) > 0 {
		x += golden
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], mix(x))
		b = b[copy(b, word[:]):]
	}
}
