// Package verify writes blocks that know where and when they were written, reads
// them back on any path, and says of each block that differs what it is instead.
//
// # Format of a block
//
// A logical block is made of sectors of 512 bytes, whatever its size, so that a
// write that was torn between them shows. A sector holds, little-endian:
//
//	0    8  magic "nvmepass"
//	8    8  LBA of its block
//	16   8  seed
//	24   4  generation: which of the passes over the range wrote it
//	28   2  number of the sector within the block, from 0
//	30   2  version of the format, 1
//	32 476  words of a splitmix64 sequence that the fields above start
//	508  4  CRC-32C of the bytes before
//
// Metadata is such a sequence too, without a stamp, since 8 bytes have no room
// for one; protection information in it is made and checked as such.
//
// Each block stands for itself: what was written by commands of one size can be
// verified by commands of another, in another order, and in part.
//
// # Threading
//
// Run belongs to the goroutine that calls it, which stays locked to its OS thread
// meanwhile. Stamps and reports are plain values.
package verify
