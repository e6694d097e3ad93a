package nvme

import "math"

// DirectiveType selects the directive that a write's DSPEC value belongs to.
type DirectiveType uint8

// Directive types (base specification, "Directives").
const (
	// DirectiveNone: no directive; as a directive type of its own this is
	// Identify, which no write uses.
	DirectiveNone DirectiveType = 0
	// DirectiveStreams: DSPEC is a stream identifier.
	DirectiveStreams DirectiveType = 1
	// DirectivePlacement: DSPEC is a placement identifier (FDP). That is not
	// the index of a placement handle unless there is one reclaim group: see
	// [RUHStatus].
	DirectivePlacement DirectiveType = 2
)

// AccessHint is the dataset management hint of a read or write: bits 0 to 7
// of CDW13. Combine one frequency, one latency and the flags with OR.
type AccessHint uint8

// Hints (NVM command set specification, "Dataset Management" field).
const (
	HintTypicalAccess           AccessHint = 1
	HintInfrequentAccess        AccessHint = 2
	HintInfrequentWriteFreqRead AccessHint = 3
	HintFreqWriteInfrequentRead AccessHint = 4
	HintFrequentAccess          AccessHint = 5
	HintOneTimeRead             AccessHint = 6
	HintSpeculativeRead         AccessHint = 7
	HintOverwriteSoon           AccessHint = 8
	HintLatencyIdle             AccessHint = 1 << 4
	HintLatencyNormal           AccessHint = 2 << 4
	HintLatencyLow              AccessHint = 3 << 4
	HintSequential              AccessHint = 1 << 6
	HintIncompressible          AccessHint = 1 << 7
)

// Limits is what a command is held against beyond its own consistency. The
// zero value limits nothing.
type Limits struct {
	// Set is the command set of the namespace, which names opcodes that
	// overlap; the zero value is [SetNVM].
	Set CommandSet
	// NSID is the only namespace the opened node accepts; 0 for any.
	NSID uint32
	// Blocks is the size of the namespace in logical blocks (NSZE); 0 for
	// unknown.
	Blocks uint64
	// MaxTransfer is the longest data buffer of one command in bytes, the
	// smaller of the controller's and the kernel's limit; 0 for no limit.
	MaxTransfer uint64
	// MaxAppend is the longest data buffer of one zone append in bytes
	// ([IdentifyZNSController.MaxAppend]); 0 for that of the other commands.
	MaxAppend uint64
}

// transferOf is the longest data buffer of a command in bytes, 0 for no limit.
func (lim *Limits) transferOf(op Opcode) uint64 {
	if lim.MaxAppend == 0 || shapeOf(lim.Set, op).kind != kindAppend {
		return lim.MaxTransfer
	}
	if lim.MaxTransfer == 0 {
		return lim.MaxAppend
	}
	return min(lim.MaxAppend, lim.MaxTransfer)
}

// IOOptions are the parts of a block command that are usually left alone. The
// zero value asks for none of them.
type IOOptions struct {
	// FUA asks for force unit access.
	FUA bool
	// LR asks for limited retry.
	LR bool
	// PRACT lets the controller insert (writes) or strip (reads) the
	// protection information; see [Layout.UnderPRACT] for what it does to the
	// lengths. Only with a layout that has protection information.
	PRACT bool
	// PRCHK says what the controller checks. Only with a layout that has
	// protection information.
	PRCHK PRCheck
	// RefTag is the initial logical block reference tag for types 2 and 3.
	// With type 1 it is derived from the SLBA and must be left 0.
	RefTag uint64
	// AppTag and AppMask are the expected application tag and its mask.
	AppTag, AppMask uint16
	// StorageTag is the storage tag, within Layout.StorageTagBits.
	StorageTag uint64
	// CheckStorageTag asks for a check of the storage tag.
	CheckStorageTag bool
	// Hint is the dataset management hint of reads and writes.
	Hint AccessHint
	// Directive and DSPEC steer where a write goes.
	Directive DirectiveType
	DSPEC     uint16
	// TimeoutMS is the time limit in milliseconds; 0 takes the driver's
	// default.
	TimeoutMS uint32
	// Limits are checked if given.
	Limits Limits
}

// NewRead builds a read of nlb blocks (1 to [MaxNLB]) from slba. NLB, DataLen
// and MetadataLen all come from nlb and the layout; the caller sets Addr and,
// for separate metadata, Metadata. It does not allocate unless it fails.
func NewRead(nsid uint32, l Layout, slba uint64, nlb uint32, o IOOptions) (Command, error) {
	return transfer(OpRead, nsid, &l, slba, nlb, &o)
}

// NewWrite builds a write of nlb blocks from slba; see [NewRead].
func NewWrite(nsid uint32, l Layout, slba uint64, nlb uint32, o IOOptions) (Command, error) {
	return transfer(OpWrite, nsid, &l, slba, nlb, &o)
}

// NewCompare builds a compare of nlb blocks from slba with host memory; see
// [NewRead]. Data moves to the controller but nothing is written.
func NewCompare(nsid uint32, l Layout, slba uint64, nlb uint32, o IOOptions) (Command, error) {
	return transfer(OpCompare, nsid, &l, slba, nlb, &o)
}

// NewVerify builds a verify of nlb blocks from slba: the controller reads the
// media and transfers nothing.
func NewVerify(nsid uint32, l Layout, slba uint64, nlb uint32, o IOOptions) (Command, error) {
	return noTransfer(OpVerify, nsid, &l, slba, nlb, &o)
}

// NewWriteZeroes builds a write zeroes of nlb blocks from slba. deallocate
// asks for the blocks to be deallocated as well (DEAC).
func NewWriteZeroes(nsid uint32, l Layout, slba uint64, nlb uint32, deallocate bool, o IOOptions) (Command, error) {
	c, err := noTransfer(OpWriteZeroes, nsid, &l, slba, nlb, &o)
	if err == nil {
		c.SetDEAC(deallocate)
	}
	return c, err
}

// NewWriteUncorrectable builds a write uncorrectable of nlb blocks from slba:
// reads of them fail until they are written again. Of the options only
// Directive, DSPEC, TimeoutMS and Limits apply.
func NewWriteUncorrectable(nsid uint32, l Layout, slba uint64, nlb uint32, o IOOptions) (Command, error) {
	return noTransfer(OpWriteUncorrectable, nsid, &l, slba, nlb, &o)
}

// NewFlush builds a flush of the namespace's volatile write cache; nsid
// 0xffffffff asks for all namespaces, which Linux accepts on no namespace
// node.
func NewFlush(nsid uint32) Command { return Command{Opcode: OpFlush, NSID: nsid} }

// transfer builds the block commands with a data buffer.
func transfer(op Opcode, nsid uint32, l *Layout, slba uint64, nlb uint32, o *IOOptions) (Command, error) {
	c := Command{Opcode: op, NSID: nsid, TimeoutMS: o.TimeoutMS}
	if err := c.setBlocks(l, slba, nlb, o); err != nil {
		return Command{}, err
	}
	if err := c.setLengths(l, nlb, o); err != nil {
		return Command{}, err
	}
	return c, nil
}

// noTransfer builds the block commands without a data buffer.
func noTransfer(op Opcode, nsid uint32, l *Layout, slba uint64, nlb uint32, o *IOOptions) (Command, error) {
	c := Command{Opcode: op, NSID: nsid, TimeoutMS: o.TimeoutMS}
	if err := c.setBlocks(l, slba, nlb, o); err != nil {
		return Command{}, err
	}
	return c, nil
}

func (c *Command) setLengths(l *Layout, nlb uint32, o *IOOptions) error {
	host := *l
	if o.PRACT {
		host = l.UnderPRACT()
	}
	data, meta := host.DataLen(nlb), host.MetadataLen(nlb)
	if data > math.MaxUint32 || meta > math.MaxUint32 {
		return refuse(o.Limits.Set, c.Opcode, c.NSID, "data_len",
			"%d blocks of %s take %d bytes, more than a 32-bit length holds; ask for at most %d blocks",
			nlb, host.unitText(), data, host.BlocksPerCommand(0))
	}
	if most := o.Limits.transferOf(c.Opcode); most != 0 && data > most {
		return refuse(o.Limits.Set, c.Opcode, c.NSID, "data_len",
			"%d bytes exceed the limit of %d bytes per command; ask for at most %d blocks of %s",
			data, most, host.BlocksPerCommand(most), host.unitText())
	}
	c.DataLen, c.MetadataLen = uint32(data), uint32(meta)
	return nil
}

// setBlocks checks and stores everything of a block command but its lengths.
func (c *Command) setBlocks(l *Layout, slba uint64, nlb uint32, o *IOOptions) error {
	if !l.valid() {
		return refuse(o.Limits.Set, c.Opcode, c.NSID, "layout", "%v", l.Validate())
	}
	if nlb == 0 || nlb > MaxNLB {
		return refuse(o.Limits.Set, c.Opcode, c.NSID, "nlb", "%d blocks asked for; one command covers 1 to %d", nlb, MaxNLB)
	}
	if err := checkRange(c, slba, nlb, &o.Limits); err != nil {
		return err
	}
	c.SetSLBA(slba)
	c.SetNLB(nlb)
	if o.FUA {
		c.CDW12 |= cdw12FUA
	}
	if o.LR {
		c.CDW12 |= cdw12LR
	}
	if o.Hint != 0 {
		if c.Opcode != OpRead && c.Opcode != OpWrite {
			return refuse(o.Limits.Set, c.Opcode, c.NSID, "dsm", "access hint 0x%02x: only read and write take one", uint8(o.Hint))
		}
		c.CDW13 |= uint32(o.Hint)
	}
	if o.Directive != DirectiveNone || o.DSPEC != 0 {
		if err := c.setDirective(o); err != nil {
			return err
		}
	}
	if c.Opcode == OpWriteUncorrectable {
		if o.FUA || o.LR || o.PRACT || o.PRCHK != 0 || o.CheckStorageTag || o.RefTag != 0 || o.AppTag != 0 || o.AppMask != 0 || o.StorageTag != 0 {
			return refuse(o.Limits.Set, c.Opcode, c.NSID, "cdw12", "the command has no FUA, LR or protection fields; leave those options out")
		}
		return nil
	}
	return c.setProtection(l, slba, o)
}

// maxZeroesDirective: bit 23 of CDW12 is NSZ in write zeroes.
const maxZeroesDirective = 7

func (c *Command) setDirective(o *IOOptions) error {
	switch c.Opcode {
	case OpWrite, OpWriteZeroes, OpWriteUncorrectable, OpCopy, OpZoneAppend:
	default:
		return refuse(o.Limits.Set, c.Opcode, c.NSID, "dtype", "directive %d: only commands that write take one", o.Directive)
	}
	if o.Directive == DirectiveNone || o.Directive > 15 {
		return refuse(o.Limits.Set, c.Opcode, c.NSID, "dtype", "directive type %d with dspec %d: the type is 1 (streams) to 15", o.Directive, o.DSPEC)
	}
	if c.Opcode == OpWriteZeroes && o.Directive > maxZeroesDirective {
		return refuse(o.Limits.Set, c.Opcode, c.NSID, "dtype", "directive type %d: write zeroes takes 1 to %d, since its field has 3 bits",
			o.Directive, maxZeroesDirective)
	}
	c.SetDTYPE(o.Directive)
	c.SetDSPEC(o.DSPEC)
	return nil
}
