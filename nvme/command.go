package nvme

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// CommandSize is the size in bytes of [Command] as user space hands it to the
// kernel (struct nvme_uring_cmd, linux/nvme_ioctl.h).
const CommandSize = 72

// SQESize is the size in bytes of an NVMe submission queue entry.
const SQESize = 64

// Command is one NVMe command as user space hands it to the Linux driver: the
// field order, widths and padding are those of struct nvme_uring_cmd, which is
// struct nvme_passthru_cmd64 without its result (linux/nvme_ioctl.h).
//
// All fields are in HOST byte order: the driver converts them when it fills
// the submission queue entry. Payloads (Identify data, logs, ranges) are
// little-endian on every host.
//
// A Command is a plain value; copying it is safe, and it holds no reference to
// the memory that Addr and Metadata name. Keeping that memory alive until the
// completion is the caller's business.
type Command struct {
	// Opcode selects the command within its command set; bit 0 set means
	// that data moves from host to controller.
	Opcode Opcode
	// Flags must be 0: the driver refuses anything else with EINVAL.
	Flags uint8
	_     uint16
	// NSID is the namespace; the driver wants the one of the opened node.
	NSID uint32
	// CDW2 and CDW3 carry the upper bits of storage and reference tags, or
	// the upper half of a key.
	CDW2 uint32
	CDW3 uint32
	// Metadata is the host address of a separate metadata buffer.
	Metadata uint64
	// Addr is the host address of the data buffer.
	Addr uint64
	// MetadataLen and DataLen are the buffer lengths in bytes. In a vectored
	// command DataLen is the number of iovecs instead.
	MetadataLen uint32
	DataLen     uint32
	CDW10       uint32
	CDW11       uint32
	CDW12       uint32
	CDW13       uint32
	CDW14       uint32
	CDW15       uint32
	// TimeoutMS is the time limit in milliseconds; 0 takes the driver's
	// default.
	TimeoutMS uint32
	_         uint32
}

// Bits of CDW12 in the read and write family of the NVM command set (NVM
// command set specification, "Read command" and "Write command").
const (
	cdw12LR    = 1 << 31 // limited retry
	cdw12FUA   = 1 << 30 // force unit access
	cdw12PRACT = 1 << 29 // protection information action
	cdw12PRCHK = 7 << 26 // protection information check
	cdw12DEAC  = 1 << 25 // deallocate (write zeroes)
	cdw12STC   = 1 << 24 // storage tag check
	cdw12NSZ   = 1 << 23 // namespace zeroes (write zeroes)
	cdw12DTYPE = 15 << 20

	cdw12PRCHKShift = 26
	cdw12DTYPEShift = 20
	cdw13DSPECShift = 16
)

// PRCheck says which parts of the protection information the controller
// checks (the PRCHK field).
type PRCheck uint8

// Parts of the protection information.
const (
	// CheckRef checks the logical block reference tag.
	CheckRef PRCheck = 1 << iota
	// CheckApp checks the logical block application tag.
	CheckApp
	// CheckGuard checks the guard.
	CheckGuard
	// CheckAll checks guard, application tag and reference tag.
	CheckAll = CheckRef | CheckApp | CheckGuard
)

// SLBA is the starting logical block address of a block command: CDW10 and
// CDW11.
func (c *Command) SLBA() uint64 { return uint64(c.CDW11)<<32 | uint64(c.CDW10) }

// SetSLBA stores the starting logical block address.
func (c *Command) SetSLBA(slba uint64) {
	c.CDW10 = uint32(slba)
	c.CDW11 = uint32(slba >> 32)
}

// NLB is the number of logical blocks of a block command, 1 to 65536. The
// field itself is zero-based; this is the count.
func (c *Command) NLB() uint32 { return c.CDW12&0xffff + 1 }

// SetNLB stores a number of logical blocks, 1 to [MaxNLB]. It keeps only what
// the 16-bit zero-based field holds and leaves DataLen and MetadataLen alone:
// builders derive all three, [Check] compares them.
func (c *Command) SetNLB(nlb uint32) { c.CDW12 = c.CDW12&^0xffff | (nlb-1)&0xffff }

func (c *Command) setCDW12(mask uint32, on bool) {
	if on {
		c.CDW12 |= mask
	} else {
		c.CDW12 &^= mask
	}
}

// FUA reports whether force unit access is set.
func (c *Command) FUA() bool { return c.CDW12&cdw12FUA != 0 }

// SetFUA sets or clears force unit access: the data must be on non-volatile
// media before the command completes.
func (c *Command) SetFUA(on bool) { c.setCDW12(cdw12FUA, on) }

// LR reports whether limited retry is set.
func (c *Command) LR() bool { return c.CDW12&cdw12LR != 0 }

// SetLR sets or clears limited retry: the controller should make less effort
// to recover.
func (c *Command) SetLR(on bool) { c.setCDW12(cdw12LR, on) }

// PRACT reports whether the controller inserts (writes) or strips (reads) the
// protection information.
func (c *Command) PRACT() bool { return c.CDW12&cdw12PRACT != 0 }

// SetPRACT sets or clears the protection information action. It changes how
// much metadata is transferred: see [Layout.UnderPRACT].
func (c *Command) SetPRACT(on bool) { c.setCDW12(cdw12PRACT, on) }

// PRCHK says which parts of the protection information are checked.
func (c *Command) PRCHK() PRCheck { return PRCheck(c.CDW12 & cdw12PRCHK >> cdw12PRCHKShift) }

// SetPRCHK sets which parts of the protection information are checked.
func (c *Command) SetPRCHK(p PRCheck) {
	c.CDW12 = c.CDW12&^cdw12PRCHK | uint32(p&CheckAll)<<cdw12PRCHKShift
}

// DEAC reports whether write zeroes asks for deallocation.
func (c *Command) DEAC() bool { return c.CDW12&cdw12DEAC != 0 }

// SetDEAC asks write zeroes to deallocate the blocks as well.
func (c *Command) SetDEAC(on bool) { c.setCDW12(cdw12DEAC, on) }

// NSZ reports whether write zeroes asks for the whole namespace to be zeroed.
func (c *Command) NSZ() bool { return c.CDW12&cdw12NSZ != 0 }

// SetNSZ sets or clears namespace zeroes of a write zeroes command, for
// controllers with [ONCS.NamespaceZeroes]. The bit is part of the directive
// type in other commands.
func (c *Command) SetNSZ(on bool) { c.setCDW12(cdw12NSZ, on) }

// STC reports whether the storage tag is checked.
func (c *Command) STC() bool { return c.CDW12&cdw12STC != 0 }

// SetSTC sets or clears the check of the storage tag.
func (c *Command) SetSTC(on bool) { c.setCDW12(cdw12STC, on) }

// DTYPE is the directive type, 0 for none.
func (c *Command) DTYPE() DirectiveType {
	return DirectiveType(c.CDW12 & cdw12DTYPE >> cdw12DTYPEShift)
}

// SetDTYPE stores the 4-bit directive type.
func (c *Command) SetDTYPE(t DirectiveType) {
	c.CDW12 = c.CDW12&^cdw12DTYPE | uint32(t&15)<<cdw12DTYPEShift
}

// DSPEC is the directive specific value: a stream identifier or a placement
// identifier.
func (c *Command) DSPEC() uint16 { return uint16(c.CDW13 >> cdw13DSPECShift) }

// SetDSPEC stores the directive specific value.
func (c *Command) SetDSPEC(v uint16) { c.CDW13 = c.CDW13&0xffff | uint32(v)<<cdw13DSPECShift }

// AppTag is the expected application tag and its mask (CDW15).
func (c *Command) AppTag() (tag, mask uint16) { return uint16(c.CDW15), uint16(c.CDW15 >> 16) }

// SetAppTag stores the application tag and its mask.
func (c *Command) SetAppTag(tag, mask uint16) { c.CDW15 = uint32(mask)<<16 | uint32(tag) }

// IsWrite reports whether data moves from host to controller: bit 0 of the
// opcode, in all command sets and for vendor opcodes. It says nothing about
// whether the command changes the media: compare is host-to-controller too.
func (c *Command) IsWrite() bool { return c.Opcode&1 != 0 }

// HasData reports whether the command names a data buffer.
func (c *Command) HasData() bool { return c.DataLen != 0 }

// AppendTo appends the 72 bytes that the kernel reads, in host byte order.
func (c *Command) AppendTo(b []byte) []byte {
	ne := binary.NativeEndian
	b = append(b, byte(c.Opcode), c.Flags, 0, 0)
	b = ne.AppendUint32(b, c.NSID)
	b = ne.AppendUint32(b, c.CDW2)
	b = ne.AppendUint32(b, c.CDW3)
	b = ne.AppendUint64(b, c.Metadata)
	b = ne.AppendUint64(b, c.Addr)
	b = ne.AppendUint32(b, c.MetadataLen)
	b = ne.AppendUint32(b, c.DataLen)
	b = ne.AppendUint32(b, c.CDW10)
	b = ne.AppendUint32(b, c.CDW11)
	b = ne.AppendUint32(b, c.CDW12)
	b = ne.AppendUint32(b, c.CDW13)
	b = ne.AppendUint32(b, c.CDW14)
	b = ne.AppendUint32(b, c.CDW15)
	b = ne.AppendUint32(b, c.TimeoutMS)
	return append(b, 0, 0, 0, 0)
}

// Image writes the 72 bytes that the kernel reads, in host byte order, to the
// start of b.
func (c *Command) Image(b []byte) error {
	if err := need("command image", b, CommandSize); err != nil {
		return err
	}
	c.AppendTo(b[:0])
	return nil
}

// DecodeCommand reads an image made by [Command.Image] on a host of the same
// byte order. Padding is ignored.
func DecodeCommand(b []byte) (Command, error) {
	if err := need("command image", b, CommandSize); err != nil {
		return Command{}, err
	}
	ne := binary.NativeEndian
	return Command{
		Opcode:      Opcode(b[0]),
		Flags:       b[1],
		NSID:        ne.Uint32(b[4:]),
		CDW2:        ne.Uint32(b[8:]),
		CDW3:        ne.Uint32(b[12:]),
		Metadata:    ne.Uint64(b[16:]),
		Addr:        ne.Uint64(b[24:]),
		MetadataLen: ne.Uint32(b[32:]),
		DataLen:     ne.Uint32(b[36:]),
		CDW10:       ne.Uint32(b[40:]),
		CDW11:       ne.Uint32(b[44:]),
		CDW12:       ne.Uint32(b[48:]),
		CDW13:       ne.Uint32(b[52:]),
		CDW14:       ne.Uint32(b[56:]),
		CDW15:       ne.Uint32(b[60:]),
		TimeoutMS:   ne.Uint32(b[64:]),
	}, nil
}

// AppendSQE appends the 64-byte submission queue entry that the drive gets
// for this command, little-endian on every host. The driver chooses the
// command identifier and the data and metadata pointers, so those are zero.
func (c *Command) AppendSQE(b []byte) []byte {
	le := binary.LittleEndian
	b = append(b, byte(c.Opcode), c.Flags, 0, 0)
	b = le.AppendUint32(b, c.NSID)
	b = le.AppendUint32(b, c.CDW2)
	b = le.AppendUint32(b, c.CDW3)
	b = append(b, make([]byte, 24)...)
	b = le.AppendUint32(b, c.CDW10)
	b = le.AppendUint32(b, c.CDW11)
	b = le.AppendUint32(b, c.CDW12)
	b = le.AppendUint32(b, c.CDW13)
	b = le.AppendUint32(b, c.CDW14)
	return le.AppendUint32(b, c.CDW15)
}

// String shows the command as one of the NVM or zoned command sets; see
// [Command.Text].
func (c *Command) String() string { return c.Text(SetNVM) }

// Text shows opcode, lengths, CDW10 to CDW12 and every other field that is not
// zero, for dry runs and logs; set names the opcode.
func (c *Command) Text(set CommandSet) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (opcode 0x%02x) nsid=%d", c.Opcode.Name(set), uint8(c.Opcode), c.NSID)
	if c.Flags != 0 {
		fmt.Fprintf(&b, " flags=0x%02x", c.Flags)
	}
	fmt.Fprintf(&b, " data_len=%d metadata_len=%d", c.DataLen, c.MetadataLen)
	for _, f := range []struct {
		name   string
		v      uint32
		always bool
	}{
		{"cdw2", c.CDW2, false},
		{"cdw3", c.CDW3, false},
		{"cdw10", c.CDW10, true},
		{"cdw11", c.CDW11, true},
		{"cdw12", c.CDW12, true},
		{"cdw13", c.CDW13, false},
		{"cdw14", c.CDW14, false},
		{"cdw15", c.CDW15, false},
	} {
		if f.always || f.v != 0 {
			fmt.Fprintf(&b, " %s=0x%08x", f.name, f.v)
		}
	}
	if c.Addr != 0 {
		fmt.Fprintf(&b, " addr=0x%x", c.Addr)
	}
	if c.Metadata != 0 {
		fmt.Fprintf(&b, " metadata=0x%x", c.Metadata)
	}
	if c.TimeoutMS != 0 {
		fmt.Fprintf(&b, " timeout_ms=%d", c.TimeoutMS)
	}
	return b.String()
}
