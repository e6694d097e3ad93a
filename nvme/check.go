package nvme

import "math"

// kind is what a command needs in lengths and ranges.
type kind uint8

const (
	kindFree       kind = iota // nothing known
	kindNone                   // neither blocks nor data
	kindBlocks                 // blocks, no data
	kindBlocksData             // blocks with their data
	kindAppend                 // zone append: as blocks with data, slba is a zone
	kindRanges                 // a list of ranges, each of a fixed size
	kindDwords                 // data of a zero-based number of dwords
	kindBytes                  // data of at most a number of bytes
	kindPage                   // one 4096-byte page
	kindFixed                  // data of one size
	kindZoneSend               // a zone, with data for one action only
	kindHandles                // I/O management send: data for one operation
	kindDirective              // as dwords, or nothing
	kindManage                 // namespace management: a page for one operation
	kindFeature                // data of at least the feature's size
)

// shape is a kind with what it needs to be checked.
type shape struct {
	kind kind
	// word is the command dword that holds the count, 10 to 15.
	word uint8
	// numd means that the word is the whole count, as in most commands; get
	// log page spreads it over two.
	numd bool
	// size is the data of a fixed size in bytes.
	size uint32
}

// shapeOf says what is known of a command.
func shapeOf(set CommandSet, op Opcode) shape {
	switch set {
	case SetNVM, SetZNS:
		switch op {
		case OpFlush:
			return shape{kind: kindNone}
		case OpRead, OpWrite, OpCompare:
			return shape{kind: kindBlocksData}
		case OpVerify, OpWriteZeroes, OpWriteUncorrectable:
			return shape{kind: kindBlocks}
		case OpZoneAppend:
			return shape{kind: kindAppend}
		case OpDSM, OpCopy:
			return shape{kind: kindRanges}
		case OpIOMgmtRecv:
			return shape{kind: kindDwords, word: 11, numd: true}
		case OpIOMgmtSend:
			return shape{kind: kindHandles}
		case OpZoneMgmtRecv:
			return shape{kind: kindDwords, word: 12, numd: true}
		case OpZoneMgmtSend:
			return shape{kind: kindZoneSend}
		case OpReservationReport:
			return shape{kind: kindDwords, word: 10, numd: true}
		case OpReservationReg, OpReservationAcquire:
			return shape{kind: kindFixed, size: 16}
		case OpReservationRelease:
			return shape{kind: kindFixed, size: 8}
		}
	case SetKV:
		switch op {
		case OpKVStore, OpKVRetrieve, OpKVList:
			return shape{kind: kindBytes, word: 10}
		case OpFlush, OpKVDelete, OpKVExist:
			return shape{kind: kindNone}
		}
	case SetAdmin:
		switch op {
		case AdminIdentify:
			return shape{kind: kindPage}
		case AdminNSAttach:
			return shape{kind: kindPage}
		case AdminGetLogPage:
			return shape{kind: kindDwords, word: 10}
		case AdminFWDownload:
			return shape{kind: kindDwords, word: 10, numd: true}
		case AdminGetLBAStatus:
			return shape{kind: kindDwords, word: 12, numd: true}
		case AdminDirectiveSend, AdminDirectiveRecv:
			return shape{kind: kindDirective, word: 10, numd: true}
		case AdminSecuritySend, AdminSecurityRecv:
			return shape{kind: kindBytes, word: 11}
		case AdminNSMgmt:
			return shape{kind: kindManage}
		case AdminGetFeatures, AdminSetFeatures:
			return shape{kind: kindFeature}
		case AdminAbort, AdminKeepAlive, AdminFWCommit, AdminSelfTest, AdminVirtMgmt, AdminCapacityMgmt, AdminLockdown, AdminFormatNVM, AdminSanitize:
			return shape{kind: kindNone}
		}
	}
	return shape{}
}

// Check holds a command that the caller made or changed against its own
// lengths, the layout and the limits. Nobody below does: neither Linux nor
// many a drive compares NLB with data_len, and the drive then writes past the
// end of the buffer. Limits.Set says which command set the opcode belongs to.
// Range lists may be longer than their count, and the buffers of features
// longer than their data. Commands that are not known
// pass with their flags, namespace and MaxTransfer checked only. Check does
// not look at addresses, nor into range lists.
func Check(c *Command, l Layout, lim Limits) error {
	if c.Flags != 0 {
		return refuse(lim.Set, c.Opcode, c.NSID, "flags", "0x%02x: the driver refuses any but 0", c.Flags)
	}
	if lim.NSID != 0 && c.NSID != lim.NSID {
		return checkRange(c, 0, 1, &lim)
	}
	sh := shapeOf(lim.Set, c.Opcode)
	switch sh.kind {
	case kindNone:
		return c.wantData(&lim, 0, 0, "the command moves no data")
	case kindBlocks:
		if !l.valid() {
			return refuse(lim.Set, c.Opcode, c.NSID, "layout", "%v", l.Validate())
		}
		if err := checkRange(c, c.SLBA(), c.NLB(), &lim); err != nil {
			return err
		}
		return c.wantData(&lim, 0, 0, "the command moves no data")
	case kindBlocksData, kindAppend:
		return checkTransfer(c, &l, &lim)
	case kindRanges:
		return checkRanges(c, &lim)
	case kindPage:
		if c.DataLen != IdentifySize {
			return refuse(lim.Set, c.Opcode, c.NSID, "data_len", "%d bytes; the controller transfers %d", c.DataLen, IdentifySize)
		}
	case kindDwords, kindDirective:
		if sh.kind == kindDirective && c.DataLen == 0 && c.CDW10 == 0 {
			break // operations without data
		}
		if n := c.dwords(sh); uint64(c.DataLen) != n*4 {
			return refuse(lim.Set, c.Opcode, c.NSID, "data_len", "%d bytes, but cdw%d asks for %d dwords, %d bytes",
				c.DataLen, sh.word, n, n*4)
		}
	case kindBytes:
		n := c.CDW10
		if sh.word == 11 {
			n = c.CDW11
		}
		if c.DataLen != n {
			return refuse(lim.Set, c.Opcode, c.NSID, "data_len", "%d bytes, but cdw%d names a host buffer of %d bytes", c.DataLen, sh.word, n)
		}
	case kindFixed:
		return c.wantData(&lim, sh.size, 0, "the command's data structure has one size")
	case kindManage:
		if c.CDW10&nsMgmtSelect == nsMgmtCreate {
			return c.wantData(&lim, IdentifySize, 0, "the namespace to create is described in one page")
		}
		return c.wantData(&lim, 0, 0, "only operation 0 (create) moves data")
	case kindFeature:
		if n := c.featureData(); c.DataLen < n {
			return refuse(lim.Set, c.Opcode, c.NSID, "data_len", "%d bytes, but feature 0x%02x moves %d, whatever the buffer holds",
				c.DataLen, uint8(c.CDW10), n)
		}
	case kindZoneSend:
		return checkZoneSend(c, &lim)
	case kindHandles:
		if c.CDW10&0xff == ioMgmtRUHUpdate {
			return c.wantData(&lim, (c.CDW10>>cdw10MOSShift+1)*2, 0, "2 bytes for each placement identifier that cdw10 counts")
		}
	}
	if sh.kind != kindFree && c.MetadataLen != 0 {
		return refuse(lim.Set, c.Opcode, c.NSID, "metadata_len", "%d bytes instead of 0: the command has no metadata", c.MetadataLen)
	}
	return checkMaxTransfer(c, &lim)
}

// Operations of namespace management, in CDW10.
const (
	nsMgmtSelect = 15
	nsMgmtCreate = 0
)

// checkZoneSend holds a zone action against zone and data.
func checkZoneSend(c *Command, lim *Limits) error {
	if c.CDW13&cdw13SelectAll == 0 {
		if err := checkRange(c, c.SLBA(), 1, lim); err != nil {
			return err
		}
	}
	if ZoneAction(c.CDW13) != ZoneSetDescExtension {
		return c.wantData(lim, 0, 0, "only action 0x10 (set zone descriptor extension) moves data")
	}
	if c.DataLen == 0 || c.DataLen%zoneDescExtUnit != 0 {
		return refuse(lim.Set, c.Opcode, c.NSID, "data_len", "%d bytes: a zone descriptor extension is a multiple of %d", c.DataLen, zoneDescExtUnit)
	}
	return c.wantData(lim, c.DataLen, 0, "the command has no metadata")
}

// dwords is the number of dwords that a command asks for.
func (c *Command) dwords(sh shape) uint64 {
	switch {
	case !sh.numd: // get log page: NUMDL and NUMDU
		return (uint64(c.CDW11&0xffff)<<16 | uint64(c.CDW10>>16)) + 1
	case sh.word == 10:
		return uint64(c.CDW10) + 1
	case sh.word == 11:
		return uint64(c.CDW11) + 1
	}
	return uint64(c.CDW12) + 1
}

// checkRange holds a block range against namespace and size.
func checkRange(c *Command, slba uint64, nlb uint32, lim *Limits) error {
	if lim.NSID != 0 && c.NSID != lim.NSID {
		return refuse(lim.Set, c.Opcode, c.NSID, "nsid", "the node belongs to namespace %d and takes no other; open the node of namespace %d",
			lim.NSID, c.NSID)
	}
	if lim.Blocks != 0 && (slba >= lim.Blocks || uint64(nlb) > lim.Blocks-slba) {
		return refuse(lim.Set, c.Opcode, c.NSID, "slba", "blocks %#x to %#x are beyond the namespace's %d blocks (last is %#x)",
			slba, slba+uint64(nlb)-1, lim.Blocks, lim.Blocks-1)
	}
	if slba > math.MaxUint64-uint64(nlb-1) {
		return refuse(lim.Set, c.Opcode, c.NSID, "slba", "%d blocks from %#x pass the end of the 64-bit address range", nlb, slba)
	}
	return nil
}

func checkTransfer(c *Command, l *Layout, lim *Limits) error {
	if !l.valid() {
		return refuse(lim.Set, c.Opcode, c.NSID, "layout", "%v", l.Validate())
	}
	nlb := c.NLB()
	if err := checkRange(c, c.SLBA(), nlb, lim); err != nil {
		return err
	}
	host := *l
	if c.PRACT() {
		host = l.UnderPRACT()
	}
	data, meta := host.DataLen(nlb), host.MetadataLen(nlb)
	if data > math.MaxUint32 || meta > math.MaxUint32 {
		return refuse(lim.Set, c.Opcode, c.NSID, "data_len", "%d blocks of %s take more than a 32-bit length holds; ask for at most %d blocks",
			nlb, host.unitText(), host.BlocksPerCommand(0))
	}
	if uint64(c.DataLen) != data {
		return refuse(lim.Set, c.Opcode, c.NSID, "data_len", "%d bytes, but %d blocks of %s take %d (the NLB field is zero-based)",
			c.DataLen, nlb, host.unitText(), data)
	}
	if uint64(c.MetadataLen) != meta {
		return refuse(lim.Set, c.Opcode, c.NSID, "metadata_len", "%d bytes, but %d blocks of layout %s take %d in a separate buffer",
			c.MetadataLen, nlb, host, meta)
	}
	return checkMaxTransfer(c, lim)
}

func checkMaxTransfer(c *Command, lim *Limits) error {
	if most := lim.transferOf(c.Opcode); most != 0 && uint64(c.DataLen) > most {
		return refuse(lim.Set, c.Opcode, c.NSID, "data_len", "%d bytes exceed the limit of %d bytes per command; split it",
			c.DataLen, most)
	}
	return nil
}

// within returns the finished command, or an error if it exceeds MaxTransfer.
func (c *Command) within(lim *Limits) (Command, error) {
	if err := checkMaxTransfer(c, lim); err != nil {
		return Command{}, err
	}
	return *c, nil
}

func (c *Command) wantData(lim *Limits, data, meta uint32, why string) error {
	if c.DataLen != data {
		return refuse(lim.Set, c.Opcode, c.NSID, "data_len", "%d bytes instead of %d: %s", c.DataLen, data, why)
	}
	if c.MetadataLen != meta {
		return refuse(lim.Set, c.Opcode, c.NSID, "metadata_len", "%d bytes instead of %d: %s", c.MetadataLen, meta, why)
	}
	return nil
}

// checkRanges holds a range list against its count.
func checkRanges(c *Command, lim *Limits) error {
	n, size := c.CDW10&0xff+1, uint32(DSMRangeSize)
	if c.Opcode == OpCopy {
		n = c.CDW12&0xff + 1
		size = CopyFormat(c.CDW12 >> 8 & 15).EntrySize()
		if size == 0 {
			return refuse(lim.Set, c.Opcode, c.NSID, "cdw12", "source range format %d is not known; it is 0 to 3", c.CDW12>>8&15)
		}
		// Each range copies at least one block.
		if err := checkRange(c, c.SLBA(), n, lim); err != nil {
			return err
		}
	}
	if c.DataLen < n*size {
		return refuse(lim.Set, c.Opcode, c.NSID, "data_len", "%d bytes do not hold %d ranges of %d bytes", c.DataLen, n, size)
	}
	if c.MetadataLen != 0 {
		return refuse(lim.Set, c.Opcode, c.NSID, "metadata_len", "%d bytes instead of 0: a range list has no metadata", c.MetadataLen)
	}
	return checkMaxTransfer(c, lim)
}
