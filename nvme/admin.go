package nvme

// AllNamespaces is the namespace identifier that stands for all of them.
const AllNamespaces uint32 = 0xffffffff

// CNS selects an Identify data structure.
type CNS uint8

// Identify data structures (base specification, "CNS Values").
const (
	// CNSNamespace is decoded by [DecodeIdentifyNamespace].
	CNSNamespace CNS = 0x00
	// CNSController is decoded by [DecodeIdentifyController].
	CNSController CNS = 0x01
	// CNSActiveNamespaces is decoded by [DecodeNamespaceList]; the list starts
	// above the given NSID.
	CNSActiveNamespaces CNS = 0x02
	// CNSNamespaceDescriptors is decoded by [DecodeNamespaceDescriptors].
	CNSNamespaceDescriptors CNS = 0x03
	// CNSNVMSets is decoded by [DecodeNVMSets].
	CNSNVMSets CNS = 0x04
	// CNSSetNamespace depends on the CSI: [DecodeIdentifyNVMNamespace],
	// [DecodeIdentifyZNSNamespace], [DecodeIdentifyKVNamespace].
	CNSSetNamespace CNS = 0x05
	// CNSSetController depends on the CSI: [DecodeIdentifyNVMController],
	// [DecodeIdentifyZNSController].
	CNSSetController       CNS = 0x06
	CNSSetActiveNamespaces CNS = 0x07
	// CNSIndependentNamespace is decoded by
	// [DecodeIdentifyIndependentNamespace].
	CNSIndependentNamespace CNS = 0x08
	// CNSNamespaceFormat and CNSSetNamespaceFormat are as CNSNamespace and
	// CNSSetNamespace, of the format with the index in SpecificID.
	CNSNamespaceFormat    CNS = 0x09
	CNSSetNamespaceFormat CNS = 0x0a
	// CNSAllocatedNamespaces is decoded by [DecodeNamespaceList],
	// CNSAllocatedNamespace by [DecodeIdentifyNamespace].
	CNSAllocatedNamespaces CNS = 0x10
	CNSAllocatedNamespace  CNS = 0x11
	// CNSAttachedControllers and CNSControllers are decoded by
	// [DecodeControllerList]; the lists start at the given CNTID.
	CNSAttachedControllers CNS = 0x12
	CNSControllers         CNS = 0x13
	// CNSPrimaryController is decoded by [DecodePrimaryController].
	CNSPrimaryController CNS = 0x14
	// CNSSecondaryControllers is decoded by [DecodeSecondaryControllers].
	CNSSecondaryControllers CNS = 0x15
	// CNSNamespaceGranularity is decoded by [DecodeNamespaceGranularities].
	CNSNamespaceGranularity CNS = 0x16
	// CNSUUIDs is decoded by [DecodeUUIDs].
	CNSUUIDs CNS = 0x17
	// CNSDomains is decoded by [DecodeDomains].
	CNSDomains CNS = 0x18
	// CNSEnduranceGroups is decoded by [DecodeEnduranceGroups].
	CNSEnduranceGroups CNS = 0x19
	// CNSSetAllocatedNamespaces is decoded by [DecodeNamespaceList];
	// CNSSetAllocatedNamespace is as CNSSetNamespace.
	CNSSetAllocatedNamespaces CNS = 0x1a
	CNSSetAllocatedNamespace  CNS = 0x1b
	// CNSCommandSets is decoded by [DecodeCommandSets].
	CNSCommandSets          CNS = 0x1c
	CNSUnderlyingNamespaces CNS = 0x1d
	CNSPorts                CNS = 0x1e
	// CNSIndependentAllocated is as CNSIndependentNamespace.
	CNSIndependentAllocated   CNS = 0x1f
	CNSControllerStateFormats CNS = 0x20
)

const (
	identifyUUIDMask     = 0x7f
	cdw10CNTIDShift      = 16
	cdw11CSIShift        = 24
	cdw14CSIShift        = 24
	cdw14OffsetTypeIndex = 1 << 23
)

// IdentifyOptions are the parts of Identify that most structures do without.
type IdentifyOptions struct {
	// NSID is the namespace, or where a list starts; 0 for controller
	// structures.
	NSID uint32
	// CNTID is the controller identifier, for controller lists.
	CNTID uint16
	// SpecificID is the CNS specific identifier: an NVM set, a domain, a
	// format index.
	SpecificID uint16
	// CSI is the command set of set specific structures.
	CSI CommandSet
	// UUIDIndex selects a vendor's namespace of values; 0 for none, at most
	// 127.
	UUIDIndex uint8
}

// NewIdentify builds an Identify with a data buffer of [IdentifySize] bytes.
func NewIdentify(cns CNS, o IdentifyOptions) (Command, error) {
	if o.UUIDIndex > identifyUUIDMask {
		return Command{}, refuse(SetAdmin, AdminIdentify, o.NSID, "uuid", "index %d is beyond %d", o.UUIDIndex, identifyUUIDMask)
	}
	return Command{
		Opcode:  AdminIdentify,
		NSID:    o.NSID,
		CDW10:   uint32(o.CNTID)<<cdw10CNTIDShift | uint32(cns),
		CDW11:   uint32(o.CSI)<<cdw11CSIShift | uint32(o.SpecificID),
		CDW14:   uint32(o.UUIDIndex),
		DataLen: IdentifySize,
	}, nil
}

// LID identifies a log page.
type LID uint8

// Log pages (base specification, "Log Page Identifiers"; zoned namespace and
// flexible data placement pages included).
const (
	LogSupportedPages        LID = 0x00
	LogError                 LID = 0x01
	LogSMART                 LID = 0x02
	LogFirmwareSlot          LID = 0x03
	LogChangedNamespaces     LID = 0x04
	LogEffects               LID = 0x05
	LogSelfTest              LID = 0x06
	LogTelemetryHost         LID = 0x07
	LogTelemetryController   LID = 0x08
	LogEnduranceGroup        LID = 0x09
	LogPredictableLatency    LID = 0x0a
	LogPredictableLatencyAgg LID = 0x0b
	LogANA                   LID = 0x0c
	LogPersistentEvent       LID = 0x0d
	LogLBAStatus             LID = 0x0e
	LogEnduranceGroupEvents  LID = 0x0f
	LogMediaUnitStatus       LID = 0x10
	LogCapacityConfigs       LID = 0x11
	LogFeatureEffects        LID = 0x12
	LogMICommandEffects      LID = 0x13
	LogLockdown              LID = 0x14
	LogBootPartition         LID = 0x15
	LogRotationalMedia       LID = 0x16
	LogDispersedNamespaces   LID = 0x17
	LogManagementAddresses   LID = 0x18
	LogPhyEyeOpening         LID = 0x19
	LogReachabilityGroups    LID = 0x1a
	LogReachabilityAssoc     LID = 0x1b
	LogChangedAllocatedNS    LID = 0x1c
	LogFDPConfigs            LID = 0x20
	LogRUHUsage              LID = 0x21
	LogFDPStats              LID = 0x22
	LogFDPEvents             LID = 0x23
	LogReservation           LID = 0x80
	LogSanitize              LID = 0x81
	LogChangedZones          LID = 0xbf
)

// LogOptions are the parts of Get Log Page that most pages do without.
type LogOptions struct {
	// NSID is the namespace; [AllNamespaces] or 0 for controller pages.
	NSID uint32
	// Offset is where to start, in bytes and a multiple of 4, or the index of
	// an entry with ByIndex. Beyond 0 it needs [LPA.Extended].
	Offset  uint64
	ByIndex bool
	// LSP and LSI are the log specific parameter (7 bits) and identifier, such
	// as an endurance group.
	LSP uint8
	LSI uint16
	// RAE keeps the asynchronous event that announced the page.
	RAE bool
	// CSI is the command set of set specific pages.
	CSI CommandSet
	// UUIDIndex selects a vendor's namespace of values; 0 for none, at most
	// 127.
	UUIDIndex uint8
}

const (
	logLSPShift  = 8
	logLSPMax    = 0x7f
	logRAE       = 1 << 15
	logNUMDShift = 16
	logLSIShift  = 16
)

// NewGetLogPage builds a Get Log Page of length bytes, a multiple of 4; the
// count of dwords is split over two fields.
func NewGetLogPage(lid LID, length uint32, o LogOptions) (Command, error) {
	switch {
	case length == 0 || length%4 != 0:
		return Command{}, refuse(SetAdmin, AdminGetLogPage, o.NSID, "data_len", "%d bytes of log 0x%02x; the length is a multiple of 4 from 4 up", length, uint8(lid))
	case !o.ByIndex && o.Offset%4 != 0:
		return Command{}, refuse(SetAdmin, AdminGetLogPage, o.NSID, "lpo", "offset %d of log 0x%02x is not a multiple of 4", o.Offset, uint8(lid))
	case o.LSP > logLSPMax:
		return Command{}, refuse(SetAdmin, AdminGetLogPage, o.NSID, "lsp", "%d is beyond %d", o.LSP, logLSPMax)
	case o.UUIDIndex > identifyUUIDMask:
		return Command{}, refuse(SetAdmin, AdminGetLogPage, o.NSID, "uuid", "index %d is beyond %d", o.UUIDIndex, identifyUUIDMask)
	}
	numd := length/4 - 1
	c := Command{
		Opcode:  AdminGetLogPage,
		NSID:    o.NSID,
		CDW10:   numd<<logNUMDShift | uint32(o.LSP)<<logLSPShift | uint32(lid),
		CDW11:   uint32(o.LSI)<<logLSIShift | numd>>16,
		CDW12:   uint32(o.Offset),
		CDW13:   uint32(o.Offset >> 32),
		CDW14:   uint32(o.CSI)<<cdw14CSIShift | uint32(o.UUIDIndex),
		DataLen: length,
	}
	if o.RAE {
		c.CDW10 |= logRAE
	}
	if o.ByIndex {
		c.CDW14 |= cdw14OffsetTypeIndex
	}
	return c, nil
}
