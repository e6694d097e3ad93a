package uapi

import (
	"structs"
	"unsafe"
)

// Sizes of ring entries in bytes (include/uapi/linux/io_uring.h).
const (
	SQESize    = 64
	SQE128Size = 128
	CQESize    = 16
	CQE32Size  = 32
	// CmdOffset is where the command area starts in an SQE. It is 16 bytes
	// long in a 64-byte entry and CmdSize bytes in a 128-byte entry.
	CmdOffset = 48
	CmdSize   = 80
)

// Compile-time proof of the sizes above: a negative constant does not convert.
const (
	_ = uint(-(unsafe.Sizeof(SQE{}) ^ SQESize))
	_ = uint(-(unsafe.Sizeof(SQE128{}) ^ SQE128Size))
	_ = uint(-(unsafe.Sizeof(CQE{}) ^ CQESize))
	_ = uint(-(unsafe.Sizeof(CQE32{}) ^ CQE32Size))
	_ = uint(-(unsafe.Sizeof(Params{}) ^ 120))
	_ = uint(-(unsafe.Sizeof(NVMePassthruCmd64{}) ^ 80))
	_ = uint(-(unsafe.Sizeof(NVMePassthruCmd{}) ^ 72))
)

// SQE is struct io_uring_sqe with the members that this project uses. Off
// shares its place with cmd_op (low 32 bits) of IORING_OP_URING_CMD, OpFlags
// with rw_flags and uring_cmd_flags.
type SQE struct {
	_           structs.HostLayout
	Opcode      uint8
	Flags       uint8
	IOPrio      uint16
	FD          int32
	Off         uint64
	Addr        uint64
	Len         uint32
	OpFlags     uint32
	UserData    uint64
	BufIndex    uint16
	Personality uint16
	FileIndex   uint32
	Cmd         [16]byte
}

// SQE128 is the entry of a ring made with SetupSQE128: the command area grows
// to 80 bytes, of which struct nvme_uring_cmd takes 72.
type SQE128 struct {
	_           structs.HostLayout
	Opcode      uint8
	Flags       uint8
	IOPrio      uint16
	FD          int32
	Off         uint64
	Addr        uint64
	Len         uint32
	OpFlags     uint32
	UserData    uint64
	BufIndex    uint16
	Personality uint16
	FileIndex   uint32
	Cmd         [CmdSize]byte
}

// CQE is struct io_uring_cqe.
type CQE struct {
	_        structs.HostLayout
	UserData uint64
	Res      int32
	Flags    uint32
}

// CQE32 is the entry of a ring made with SetupCQE32. For NVMe, Big[0] is the
// 64-bit command result.
type CQE32 struct {
	_        structs.HostLayout
	UserData uint64
	Res      int32
	Flags    uint32
	Big      [2]uint64
}

// SQRingOffsets is struct io_sqring_offsets.
type SQRingOffsets struct {
	_                                                        structs.HostLayout
	Head, Tail, RingMask, RingEntries, Flags, Dropped, Array uint32
	Resv1                                                    uint32
	UserAddr                                                 uint64
}

// CQRingOffsets is struct io_cqring_offsets.
type CQRingOffsets struct {
	_                                                        structs.HostLayout
	Head, Tail, RingMask, RingEntries, Overflow, CQEs, Flags uint32
	Resv1                                                    uint32
	UserAddr                                                 uint64
}

// Params is struct io_uring_params.
type Params struct {
	_            structs.HostLayout
	SQEntries    uint32
	CQEntries    uint32
	Flags        uint32
	SQThreadCPU  uint32
	SQThreadIdle uint32
	Features     uint32
	WQFD         uint32
	Resv         [3]uint32
	SQOff        SQRingOffsets
	CQOff        CQRingOffsets
}

// Iovec is struct iovec.
type Iovec struct {
	_    structs.HostLayout
	Base uint64
	Len  uint64
}

// RsrcUpdate is struct io_uring_rsrc_update. For RegisterRingFDs, Offset asks
// for an index (or -1) and Data is the ring's descriptor.
type RsrcUpdate struct {
	_      structs.HostLayout
	Offset uint32
	Resv   uint32
	Data   uint64
}

// ProbeOp is struct io_uring_probe_op.
type ProbeOp struct {
	_     structs.HostLayout
	Op    uint8
	Resv  uint8
	Flags uint16
	Resv2 uint32
}

// Probe is struct io_uring_probe with room for every opcode.
type Probe struct {
	_      structs.HostLayout
	LastOp uint8
	OpsLen uint8
	Resv   uint16
	Resv2  [3]uint32
	Ops    [256]ProbeOp
}

// OpSupported is IO_URING_OP_SUPPORTED in ProbeOp.Flags.
const OpSupported = 1 << 0

// Offsets for mmap (IORING_OFF_*).
const (
	OffSQRing = 0
	OffSQEs   = 0x10000000
)

// Set-up flags (IORING_SETUP_*) with the first kernel that has each.
const (
	SetupIOPoll       = 1 << 0  // 5.1
	SetupSQPoll       = 1 << 1  // 5.1
	SetupSQAff        = 1 << 2  // 5.1
	SetupCQSize       = 1 << 3  // 5.5
	SetupClamp        = 1 << 4  // 5.6
	SetupAttachWQ     = 1 << 5  // 5.6
	SetupRDisabled    = 1 << 6  // 5.10
	SetupSubmitAll    = 1 << 7  // 5.18
	SetupCoopTaskrun  = 1 << 8  // 5.19
	SetupTaskrunFlag  = 1 << 9  // 5.19
	SetupSQE128       = 1 << 10 // 5.19
	SetupCQE32        = 1 << 11 // 5.19
	SetupSingleIssuer = 1 << 12 // 6.0
	SetupDeferTaskrun = 1 << 13 // 6.1
	SetupNoMmap       = 1 << 14 // 6.5
	SetupNoSQArray    = 1 << 16 // 6.6
	SetupHybridIOPoll = 1 << 17 // 6.13
	SetupSQRewind     = 1 << 20 // 7.0
)

// Feature bits (IORING_FEAT_*) that the kernel sets in Params.Features.
const (
	FeatSingleMmap = 1 << 0 // 5.4
	FeatNoDrop     = 1 << 1 // 5.5
	FeatExtArg     = 1 << 8 // 5.11
)

// Enter flags (IORING_ENTER_*).
const (
	EnterGetEvents      = 1 << 0
	EnterSQWakeup       = 1 << 1
	EnterSQWait         = 1 << 2
	EnterRegisteredRing = 1 << 4
)

// SQ ring flags (IORING_SQ_*).
const (
	SQNeedWakeup = 1 << 0
	SQCQOverflow = 1 << 1
	SQTaskrun    = 1 << 2
)

// Register opcodes (IORING_REGISTER_*).
const (
	RegisterBuffers     = 0
	UnregisterBuffers   = 1
	RegisterFiles       = 2
	UnregisterFiles     = 3
	RegisterProbe       = 8
	RegisterEnableRings = 12
	RegisterRingFDs     = 20
	UnregisterRingFDs   = 21
)

// SQE opcodes (IORING_OP_*).
const (
	OpNop         = 0
	OpReadFixed   = 4
	OpWriteFixed  = 5
	OpReadV       = 1
	OpWriteV      = 2
	OpRead        = 22
	OpWrite       = 23
	OpReadVFixed  = 60 // 6.15
	OpWriteVFixed = 61 // 6.15
	OpURingCmd    = 46
)

// SQEFixedFile is IOSQE_FIXED_FILE: FD is an index of a registered file.
const SQEFixedFile = 1 << 0

// URingCmdFixed is IORING_URING_CMD_FIXED: the command's buffer lies in the
// registered buffer BufIndex. It stands in SQE.OpFlags.
const URingCmdFixed = 1 << 0

// Limits of the kernel.
const (
	// MaxEntries is IORING_MAX_ENTRIES, the largest submission queue.
	MaxEntries = 32768
	// MaxRegisteredBuffers is IORING_MAX_REG_BUFFERS.
	MaxRegisteredBuffers = 1 << 14
	// MaxBufferBytes is the longest single registered buffer (io_uring/rsrc.c).
	MaxBufferBytes = 1 << 30
	// MaxRingFDs is IO_RINGFD_REG_MAX, registered rings per thread.
	MaxRingFDs = 16
)
