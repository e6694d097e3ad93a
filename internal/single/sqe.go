package single

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/nvme"
)

// SQESize is the size in bytes of a submission queue entry of a ring made with
// IORING_SETUP_SQE128.
const SQESize = 128

// Field is one member of the entry.
type Field struct {
	Offset int    `json:"offset"`
	Size   int    `json:"size"`
	Name   string `json:"name"`
	// Hex is the value in host byte order, as a number.
	Hex string `json:"value"`
	// Meaning explains it, "" where there is nothing to add.
	Meaning string `json:"meaning,omitempty"`

	value uint64
}

// SQE is how a command is handed to the kernel and to the drive.
type SQE struct {
	// Fields are the 128 bytes of the ring's entry, in order and without gaps.
	Fields []Field `json:"fields"`
	// Bytes are the entry, Drive the 64 bytes that the driver makes of it for
	// the drive, both in hexadecimal digits.
	Bytes string `json:"sqe"`
	Drive string `json:"nvme_sqe"`
}

// EncodeSQE shows the entry of a command. What is known only when it is sent is
// zero and said so: descriptor, addresses and the slot's number.
func EncodeSQE(r *Request) SQE {
	c := &r.Command
	op, name := uint64(uapi.NVMeURingCmdIO), "NVME_URING_CMD_IO"
	if r.Set == nvme.SetAdmin {
		op, name = uint64(uapi.NVMeURingCmdAdmin), "NVME_URING_CMD_ADMIN"
	}
	var s SQE
	at := 0
	add := func(size int, name string, v uint64, meaning string) {
		s.Fields = append(s.Fields, Field{Offset: at, Size: size, Name: name, Hex: fmt.Sprintf("0x%0*x", 2*min(size, 8), v), Meaning: meaning, value: v})
		at += size
	}
	address := func(n uint32, what string) string {
		if n == 0 {
			return "no " + what
		}
		return "address of the " + what + ", set when it is sent"
	}
	direction := "no data"
	if c.DataLen > 0 {
		direction = "data to the drive"
		if !c.IsWrite() {
			direction = "data from the drive"
		}
	}
	timeout := "the driver's default"
	if c.TimeoutMS != 0 {
		timeout = fmt.Sprintf("%d ms", c.TimeoutMS)
	}
	add(1, "opcode", uint64(uapi.OpURingCmd), "IORING_OP_URING_CMD")
	add(1, "flags", 0, "")
	add(2, "ioprio", 0, "")
	add(4, "fd", 0, "descriptor or registered index, set when it is sent")
	add(4, "cmd_op", op, name)
	add(4, "__pad1", 0, "")
	add(8, "addr", 0, "")
	add(4, "len", 0, "")
	add(4, "uring_cmd_flags", 0, "")
	add(8, "user_data", 0, "slot and generation, set when it is sent")
	add(2, "buf_index", 0, "")
	add(2, "personality", 0, "")
	add(4, "file_index", 0, "")
	add(1, "cmd.opcode", uint64(c.Opcode), c.Opcode.Name(r.Set)+", "+direction)
	add(1, "cmd.flags", uint64(c.Flags), "")
	add(2, "cmd.rsvd1", 0, "")
	add(4, "cmd.nsid", uint64(c.NSID), "")
	add(4, "cmd.cdw2", uint64(c.CDW2), "")
	add(4, "cmd.cdw3", uint64(c.CDW3), "")
	add(8, "cmd.metadata", 0, address(c.MetadataLen, "metadata"))
	add(8, "cmd.addr", 0, address(c.DataLen, "data"))
	add(4, "cmd.metadata_len", uint64(c.MetadataLen), fmt.Sprintf("%d bytes", c.MetadataLen))
	add(4, "cmd.data_len", uint64(c.DataLen), fmt.Sprintf("%d bytes", c.DataLen))
	for i, v := range []uint32{c.CDW10, c.CDW11, c.CDW12, c.CDW13, c.CDW14, c.CDW15} {
		add(4, fmt.Sprintf("cmd.cdw%d", 10+i), uint64(v), "")
	}
	add(4, "cmd.timeout_ms", uint64(c.TimeoutMS), timeout)
	add(4, "cmd.rsvd2", 0, "")
	add(8, "padding", 0, "")
	s.Bytes = hex.EncodeToString(s.encode())
	s.Drive = hex.EncodeToString(c.AppendSQE(nil))
	return s
}

// encode writes the fields as the kernel reads them.
func (s *SQE) encode() []byte {
	b := make([]byte, SQESize)
	for _, f := range s.Fields {
		switch p := b[f.Offset:]; f.Size {
		case 1:
			p[0] = byte(f.value)
		case 2:
			binary.NativeEndian.PutUint16(p, uint16(f.value))
		case 4:
			binary.NativeEndian.PutUint32(p, uint32(f.value))
		case 8:
			binary.NativeEndian.PutUint64(p, f.value)
		}
	}
	return b
}
