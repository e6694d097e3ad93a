package nvme

import (
	"encoding/binary"
	"hash/crc32"
)

const (
	crc16Poly = 0x8bb7             // x^16 + x^15 + x^11 + x^9 + x^8 + x^7 + x^5 + x^4 + x^2 + x + 1
	crc64Poly = 0x9a6c9329ac4bc9b5 // NVM Express, bits reversed
)

// Tables for sixteen bytes at a time: entry [k][b] is the remainder of byte b
// followed by k zero bytes.
var (
	crc16Tables = makeCRC16Tables()
	crc64Tables = makeCRC64Tables()
	castagnoli  = crc32.MakeTable(crc32.Castagnoli)
)

func makeCRC16Tables() *[16][256]uint16 {
	t := new([16][256]uint16)
	for b := range 256 {
		crc := uint16(b) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ crc16Poly
			} else {
				crc <<= 1
			}
		}
		t[0][b] = crc
	}
	for k := 1; k < 16; k++ {
		for b := range 256 {
			prev := t[k-1][b]
			t[k][b] = prev<<8 ^ t[0][prev>>8]
		}
	}
	return t
}

func makeCRC64Tables() *[16][256]uint64 {
	t := new([16][256]uint64)
	for b := range 256 {
		crc := uint64(b)
		for range 8 {
			if crc&1 != 0 {
				crc = crc>>1 ^ crc64Poly
			} else {
				crc >>= 1
			}
		}
		t[0][b] = crc
	}
	for k := 1; k < 16; k++ {
		for b := range 256 {
			prev := t[k-1][b]
			t[k][b] = prev>>8 ^ t[0][prev&0xff]
		}
	}
	return t
}

// CRC16 continues a T10 DIF guard over b; start with crc 0.
func CRC16(crc uint16, b []byte) uint16 {
	t := crc16Tables
	for len(b) >= 16 {
		v, w := binary.BigEndian.Uint64(b)^uint64(crc)<<48, binary.BigEndian.Uint64(b[8:])
		crc = t[15][v>>56] ^ t[14][v>>48&0xff] ^ t[13][v>>40&0xff] ^ t[12][v>>32&0xff] ^
			t[11][v>>24&0xff] ^ t[10][v>>16&0xff] ^ t[9][v>>8&0xff] ^ t[8][v&0xff] ^
			t[7][w>>56] ^ t[6][w>>48&0xff] ^ t[5][w>>40&0xff] ^ t[4][w>>32&0xff] ^
			t[3][w>>24&0xff] ^ t[2][w>>16&0xff] ^ t[1][w>>8&0xff] ^ t[0][w&0xff]
		b = b[16:]
	}
	for _, c := range b {
		crc = crc<<8 ^ t[0][byte(crc>>8)^c]
	}
	return crc
}

// CRC32C continues the guard of the 32-bit format over b; start with crc 0.
func CRC32C(crc uint32, b []byte) uint32 { return crc32.Update(crc, castagnoli, b) }

// CRC64 continues the guard of the 64-bit format over b; start with crc 0.
func CRC64(crc uint64, b []byte) uint64 {
	t := crc64Tables
	crc = ^crc
	for len(b) >= 16 {
		v, w := binary.LittleEndian.Uint64(b)^crc, binary.LittleEndian.Uint64(b[8:])
		crc = t[15][v&0xff] ^ t[14][v>>8&0xff] ^ t[13][v>>16&0xff] ^ t[12][v>>24&0xff] ^
			t[11][v>>32&0xff] ^ t[10][v>>40&0xff] ^ t[9][v>>48&0xff] ^ t[8][v>>56] ^
			t[7][w&0xff] ^ t[6][w>>8&0xff] ^ t[5][w>>16&0xff] ^ t[4][w>>24&0xff] ^
			t[3][w>>32&0xff] ^ t[2][w>>40&0xff] ^ t[1][w>>48&0xff] ^ t[0][w>>56]
		b = b[16:]
	}
	for _, c := range b {
		crc = crc>>8 ^ t[0][byte(crc)^c]
	}
	return ^crc
}
