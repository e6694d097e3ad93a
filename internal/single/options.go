package single

import "github.com/nvmepass/nvmepass/nvme"

// Options are what a user gave. Each verb takes those that [Verb.Flags] lists;
// the zero value of each is "not given" unless it says otherwise.
type Options struct {
	// NSID is the namespace, 0 for that of the target.
	NSID uint32
	// StartBlock is the first logical block, Blocks how many, 0 for as many as
	// the data has.
	StartBlock uint64
	Blocks     uint64
	// DataSize and MetadataSize are in bytes; they have to agree with Blocks.
	DataSize, MetadataSize uint64

	FUA, LR         bool
	PRInfo          uint8
	AppTag, AppMask uint16
	RefTag          uint64
	// HasRefTag tells 0 from "not given".
	HasRefTag       bool
	StorageTag      uint64
	CheckStorageTag bool
	Hint            uint8
	DirType         uint8
	DirSpec         uint16
	TimeoutMS       uint32

	// Deallocate is DEAC of write zeroes.
	Deallocate bool
	// Ranges are SLBA:BLOCKS of trim and copy; Destination is where a copy goes.
	Ranges      []string
	Destination uint64

	// State filters a zone report, Descriptors bounds it, Partial makes it
	// count those alone, Extended adds descriptor extensions.
	State       string
	Descriptors uint32
	Partial     bool
	Extended    bool
	// SelectAll applies a zone action to all zones; ZRWA opens one with a
	// random write area.
	SelectAll, ZRWA bool

	// Opcode to MetadataLen describe a raw command. CDW is indexed by the
	// number of the dword: 2, 3 and 10 to 15.
	Opcode               uint8
	CDW                  [16]uint32
	DataLen, MetadataLen uint32
	Read, Write          bool

	CNS        nvme.CNS
	HasCNS     bool
	CNTID      uint16
	CNSSpecID  uint16
	CSI        uint8
	UUIDIndex  uint8
	LID        nvme.LID
	Offset     uint64
	LSP        uint8
	LSI        uint16
	RAE        bool
	FID        nvme.FID
	Select     uint8
	Value      uint32
	Save       bool
	LogLen     uint32
	FeatureLen uint32
}
