package nvme

import "encoding/binary"

// MaxKVKey is the longest key in bytes; the namespace may allow less.
const MaxKVKey = 16

// KVStoreOption says when and how a value is stored.
type KVStoreOption uint8

// Store options (key value command set specification, "Store command").
const (
	// KVMustExist stores only over an existing key.
	KVMustExist KVStoreOption = 1 << 0
	// KVMustNotExist stores only under a new key.
	KVMustNotExist KVStoreOption = 1 << 1
	// KVNoCompression keeps the drive from compressing the value.
	KVNoCompression KVStoreOption = 1 << 2
)

const cdw11KVOptionShift = 8

// NewKVStore builds a store of a value of size bytes, which may be 0, under
// the key.
func NewKVStore(nsid uint32, key []byte, size uint32, o KVStoreOption) (Command, error) {
	if o&^(KVMustExist|KVMustNotExist|KVNoCompression) != 0 || o&KVMustExist != 0 && o&KVMustNotExist != 0 {
		return Command{}, refuse(SetKV, OpKVStore, nsid, "cdw11",
			"store options 0x%02x: must-exist (1) and must-not-exist (2) exclude each other, and only bits 0 to 2 are defined", uint8(o))
	}
	c, err := kvCommand(OpKVStore, nsid, key, size)
	if err == nil {
		c.CDW11 |= uint32(o) << cdw11KVOptionShift
	}
	return c, err
}

// NewKVRetrieve builds a retrieve of the key's value into a buffer of size
// bytes. The completion's dword 0 is the length of the value, which may be
// more. raw asks for the value as stored, without decompression.
func NewKVRetrieve(nsid uint32, key []byte, size uint32, raw bool) (Command, error) {
	c, err := kvCommand(OpKVRetrieve, nsid, key, size)
	if err == nil && raw {
		c.CDW11 |= 1 << cdw11KVOptionShift
	}
	return c, err
}

// NewKVList builds a list of the keys from the given one on into a buffer of
// size bytes; an empty key starts at the first. [DecodeKVList] reads it.
func NewKVList(nsid uint32, key []byte, size uint32) (Command, error) {
	if size < kvListHeader || size%4 != 0 {
		return Command{}, refuse(SetKV, OpKVList, nsid, "data_len", "%d bytes; a key list takes at least %d, in multiples of 4", size, kvListHeader)
	}
	if len(key) == 0 {
		return Command{Opcode: OpKVList, NSID: nsid, CDW10: size, DataLen: size}, nil
	}
	return kvCommand(OpKVList, nsid, key, size)
}

// NewKVDelete builds a delete of the key and its value.
func NewKVDelete(nsid uint32, key []byte) (Command, error) {
	return kvCommand(OpKVDelete, nsid, key, 0)
}

// NewKVExist builds a question whether the key exists: success if it does,
// [KeyDoesNotExist] if not.
func NewKVExist(nsid uint32, key []byte) (Command, error) { return kvCommand(OpKVExist, nsid, key, 0) }

// kvCommand stores the key: its bytes fill dwords 2, 3, 14 and 15 in order, so
// that byte 0 is the lowest byte of dword 2.
func kvCommand(op Opcode, nsid uint32, key []byte, size uint32) (Command, error) {
	if len(key) == 0 || len(key) > MaxKVKey {
		return Command{}, refuse(SetKV, op, nsid, "key", "%d bytes; a key has 1 to %d", len(key), MaxKVKey)
	}
	var k [MaxKVKey]byte
	copy(k[:], key)
	le := binary.LittleEndian
	return Command{
		Opcode:  op,
		NSID:    nsid,
		CDW2:    le.Uint32(k[0:]),
		CDW3:    le.Uint32(k[4:]),
		CDW10:   size,
		CDW11:   uint32(len(key)),
		CDW14:   le.Uint32(k[8:]),
		CDW15:   le.Uint32(k[12:]),
		DataLen: size,
	}, nil
}

// KVKey is the key of a key value command.
func (c *Command) KVKey() []byte {
	b := make([]byte, 0, MaxKVKey)
	for _, w := range [...]uint32{c.CDW2, c.CDW3, c.CDW14, c.CDW15} {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b[:min(int(c.CDW11&0xff), MaxKVKey)]
}

const kvListHeader = 4

// DecodeKVList reads the answer to [NewKVList]: the keys, each a slice of b.
// Keys that b does not hold whole are left out; a key longer than
// [MaxKVKey] is an error.
func DecodeKVList(b []byte) ([][]byte, error) {
	if err := need("key list", b, kvListHeader); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(b)
	b = b[kvListHeader:]
	var keys [][]byte
	for ; n > 0 && len(b) >= 2; n-- {
		size := int(binary.LittleEndian.Uint16(b))
		if size > MaxKVKey {
			return nil, refuse(SetKV, OpKVList, 0, "key", "key %d of the list has %d bytes; a key has at most %d", len(keys), size, MaxKVKey)
		}
		if len(b) < 2+size {
			break
		}
		keys = append(keys, b[2:2+size:2+size])
		// Entries start on 4-byte boundaries.
		b = b[min((2+size+3)&^3, len(b)):]
	}
	return keys, nil
}
