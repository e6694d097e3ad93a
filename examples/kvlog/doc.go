// Package kvlog is an example: a small key-value log on a raw NVMe namespace,
// append-only and checksummed, whose acknowledged keys survive a crash at any
// moment.
//
//	dev, err := passthru.Open("/dev/ng0n1", &passthru.Config{Writable: true})
//	...
//	store, err := kvlog.OnDevice(dev)
//	...
//	log, err := kvlog.Open(store, kvlog.Options{})
//	...
//	err = log.Put("key", value) // nil: durable
//
// # Format
//
// All integers are little-endian. Blocks 0 and 1 hold a superblock each, of
// which the one with the higher generation counts; an opening writes the other
// one, so that a torn write leaves one that is whole. Records follow from
// block 2 on:
//
//	0   CRC-32C of the log's UUID, the header from byte 4 on, key and value
//	4   kind: 1 put, 2 delete
//	6   length of the key
//	8   length of the value
//	16  generation: which opening of the log wrote it
//	24  sequence: 1, 2, 3 and so on through the life of the log
//	32  key, value, and zeros up to a multiple of 8 bytes
//
// Records that are written together are packed one after another, and zeros
// fill the last block. A block that was written is never written again.
//
// # Group commit
//
// While one write and its flush are on their way, further calls of Put and
// Delete collect in memory; the next write carries them all, and one flush
// makes them durable. A call returns when the flush of its write has completed.
//
// # Recovery
//
// Open reads the records from the first one on. What follows in the same block,
// or else at the start of the next one, has to continue the sequence, must not
// be of an older generation than the record before, and its checksum has to be
// right. Where that ends, the log ends, and writing goes on in the next block.
// What lies beyond is never looked at again: remains of a torn write and of
// other logs fail by sequence, generation or UUID. A generation is durable in
// the superblock before the first record carries it.
//
// That is also the weakness of so simple a log: damage in its middle looks like
// its end. There is no compaction either; a full log takes no more records.
//
// # Threading
//
// A Log may be used by any goroutine. A namespace belongs to one Log at a time,
// which nothing here enforces. Commands of a process that was killed may still
// be on their way for as long as the drive takes: nothing that it wrote may be
// opened before they have ended, at the latest when the driver's time-out (30 s
// by default) has passed.
//
// # Errors
//
// ErrNotLog, ErrNotBlank, ErrExists, ErrNotFound, ErrFull, ErrTooLarge,
// ErrEmptyKey, ErrCorrupt and ErrClosed are found with errors.Is, and so are
// those of package passthru. After a failed write or flush nobody knows what is
// durable: every later Put and Delete returns that failure, until the log is
// opened anew.
package kvlog
