package nvme

import (
	"fmt"
	"slices"
)

// Code is a status code type and a status code, SCT<<8 | SC: what happened,
// without the retry hints. It is an error value to compare with: see
// [StatusError.Is].
//
// Command specific codes from 0x80 up mean different things in different
// command sets and in NVMe over Fabrics; the names here are those of the I/O
// command sets.
type Code uint16

// Generic command status (base specification, "Generic Command Status
// Values").
const (
	Success                        Code = 0x000
	InvalidOpcode                  Code = 0x001
	InvalidField                   Code = 0x002
	CommandIDConflict              Code = 0x003
	DataTransferError              Code = 0x004
	AbortedPowerLoss               Code = 0x005
	InternalError                  Code = 0x006
	AbortRequested                 Code = 0x007
	AbortedSQDeletion              Code = 0x008
	AbortedFailedFused             Code = 0x009
	AbortedMissingFused            Code = 0x00a
	InvalidNamespaceOrFormat       Code = 0x00b
	CommandSequenceError           Code = 0x00c
	InvalidSGLSegment              Code = 0x00d
	InvalidSGLCount                Code = 0x00e
	DataSGLLengthInvalid           Code = 0x00f
	MetadataSGLLengthInvalid       Code = 0x010
	SGLTypeInvalid                 Code = 0x011
	InvalidUseOfCMB                Code = 0x012
	PRPOffsetInvalid               Code = 0x013
	AtomicWriteUnitExceeded        Code = 0x014
	OperationDenied                Code = 0x015
	SGLOffsetInvalid               Code = 0x016
	HostIDInconsistentFormat       Code = 0x018
	KeepAliveExpired               Code = 0x019
	KeepAliveTimeoutInvalid        Code = 0x01a
	AbortedPreemptAndAbort         Code = 0x01b
	SanitizeFailed                 Code = 0x01c
	SanitizeInProgress             Code = 0x01d
	SGLDataBlockGranularityInvalid Code = 0x01e
	CommandNotSupportedInCMB       Code = 0x01f
	NamespaceWriteProtected        Code = 0x020
	CommandInterrupted             Code = 0x021
	TransientTransportError        Code = 0x022
	ProhibitedByLockdown           Code = 0x023
	AdminMediaNotReady             Code = 0x024
	InvalidKeyTag                  Code = 0x025
	HostDispersedNSNotEnabled      Code = 0x026
	HostIDNotInitialized           Code = 0x027
	IncorrectKey                   Code = 0x028
	FDPDisabled                    Code = 0x029
	InvalidPlacementHandleList     Code = 0x02a
)

// Generic command status of the I/O command sets.
const (
	LBAOutOfRange       Code = 0x080
	CapacityExceeded    Code = 0x081
	NamespaceNotReady   Code = 0x082
	ReservationConflict Code = 0x083
	FormatInProgress    Code = 0x084
	InvalidValueSize    Code = 0x085
	InvalidKeySize      Code = 0x086
	KeyDoesNotExist     Code = 0x087
	UnrecoveredError    Code = 0x088
	KeyExists           Code = 0x089
)

// Command specific status (base specification 2.2, "Command Specific Status
// Values"); those from 0x180 up belong to the I/O command sets.
const (
	CompletionQueueInvalid             Code = 0x100
	InvalidQueueIdentifier             Code = 0x101
	InvalidQueueSize                   Code = 0x102
	AbortLimitExceeded                 Code = 0x103
	AsyncEventLimitExceeded            Code = 0x105
	InvalidFirmwareSlot                Code = 0x106
	InvalidFirmwareImage               Code = 0x107
	InvalidInterruptVector             Code = 0x108
	InvalidLogPage                     Code = 0x109
	InvalidFormat                      Code = 0x10a
	FirmwareNeedsConventionalReset     Code = 0x10b
	InvalidQueueDeletion               Code = 0x10c
	FeatureNotSaveable                 Code = 0x10d
	FeatureNotChangeable               Code = 0x10e
	FeatureNotNamespaceSpecific        Code = 0x10f
	FirmwareNeedsSubsystemReset        Code = 0x110
	FirmwareNeedsControllerReset       Code = 0x111
	FirmwareNeedsMaxTimeViolation      Code = 0x112
	FirmwareActivationProhibited       Code = 0x113
	OverlappingRange                   Code = 0x114
	NamespaceInsufficientCapacity      Code = 0x115
	NamespaceIDUnavailable             Code = 0x116
	NamespaceAlreadyAttached           Code = 0x118
	NamespaceIsPrivate                 Code = 0x119
	NamespaceNotAttached               Code = 0x11a
	ThinProvisioningNotSupported       Code = 0x11b
	ControllerListInvalid              Code = 0x11c
	SelfTestInProgress                 Code = 0x11d
	BootPartitionWriteProhibited       Code = 0x11e
	InvalidControllerID                Code = 0x11f
	InvalidSecondaryControllerState    Code = 0x120
	InvalidControllerResources         Code = 0x121
	InvalidResourceID                  Code = 0x122
	SanitizeProhibitedPMREnabled       Code = 0x123
	ANAGroupIDInvalid                  Code = 0x124
	ANAAttachFailed                    Code = 0x125
	InsufficientCapacity               Code = 0x126
	NamespaceAttachmentLimitExceeded   Code = 0x127
	ProhibitionOfExecutionNotSupported Code = 0x128
	IOCommandSetNotSupported           Code = 0x129
	IOCommandSetNotEnabled             Code = 0x12a
	IOCommandSetCombinationRejected    Code = 0x12b
	InvalidIOCommandSet                Code = 0x12c
	IdentifierUnavailable              Code = 0x12d
	NamespaceIsDispersed               Code = 0x12e
	InvalidDiscoveryInformation        Code = 0x12f
	ZoningDataStructureLocked          Code = 0x130
	ZoningDataStructureNotFound        Code = 0x131
	InsufficientDiscoveryResources     Code = 0x132
	RequestedFunctionDisabled          Code = 0x133
	ZoneGroupOriginatorInvalid         Code = 0x134
	InvalidHost                        Code = 0x135
	InvalidNVMSubsystem                Code = 0x136
	InvalidControllerDataQueue         Code = 0x137
	NotEnoughResources                 Code = 0x138
	ControllerSuspended                Code = 0x139
	ControllerNotSuspended             Code = 0x13a
	ControllerDataQueueFull            Code = 0x13b
	ConflictingAttributes              Code = 0x180
	InvalidProtectionInformation       Code = 0x181
	WriteToReadOnlyRange               Code = 0x182
	CommandSizeLimitExceeded           Code = 0x183
	InvalidCommandID                   Code = 0x184
	IncompatibleNamespaceOrFormat      Code = 0x185
	FastCopyNotPossible                Code = 0x186
	OverlappingIORange                 Code = 0x187
	NamespaceNotReachable              Code = 0x188
	InsufficientResources              Code = 0x189
	InsufficientProgramResources       Code = 0x18a
	InvalidMemoryNamespace             Code = 0x18b
	InvalidMemoryRangeSet              Code = 0x18c
	InvalidMemoryRangeSetID            Code = 0x18d
	InvalidProgramData                 Code = 0x18e
	InvalidProgramIndex                Code = 0x18f
	InvalidProgramType                 Code = 0x190
	MaximumMemoryRangesExceeded        Code = 0x191
	MaximumMemoryRangeSetsExceeded     Code = 0x192
	MaximumProgramsActivated           Code = 0x193
	MaximumProgramBytesExceeded        Code = 0x194
	MemoryRangeSetInUse                Code = 0x195
	NoProgram                          Code = 0x196
	OverlappingMemoryRanges            Code = 0x197
	ProgramNotActivated                Code = 0x198
	ProgramInUse                       Code = 0x199
	ProgramIndexNotDownloadable        Code = 0x19a
	ProgramTooBig                      Code = 0x19b
	MediaVerificationReadSuccessful    Code = 0x19c
	InvalidZoneOperationRequest        Code = 0x1b6
	ZRWAResourcesUnavailable           Code = 0x1b7
	ZoneBoundaryError                  Code = 0x1b8
	ZoneIsFull                         Code = 0x1b9
	ZoneIsReadOnly                     Code = 0x1ba
	ZoneIsOffline                      Code = 0x1bb
	ZoneInvalidWrite                   Code = 0x1bc
	TooManyActiveZones                 Code = 0x1bd
	TooManyOpenZones                   Code = 0x1be
	InvalidZoneStateTransition         Code = 0x1bf
)

// Media and data integrity errors.
const (
	WriteFault               Code = 0x280
	UnrecoveredReadError     Code = 0x281
	GuardCheckError          Code = 0x282
	ApplicationTagCheckError Code = 0x283
	ReferenceTagCheckError   Code = 0x284
	CompareFailure           Code = 0x285
	AccessDenied             Code = 0x286
	DeallocatedOrUnwritten   Code = 0x287
	StorageTagCheckError     Code = 0x288
)

// Path related status.
const (
	InternalPathError      Code = 0x300
	ANAPersistentLoss      Code = 0x301
	ANAInaccessible        Code = 0x302
	ANATransition          Code = 0x303
	ControllerPathingError Code = 0x360
	HostPathingError       Code = 0x370
	CommandAbortedByHost   Code = 0x371
)

type codeInfo struct {
	code Code
	name string
	text string
}

// codeTable is sorted by code.
var codeTable = []codeInfo{
	{Success, "Success", "the command completed without an error"},
	{InvalidOpcode, "Invalid Command Opcode", "the controller does not know this opcode, or the command set that has it is off"},
	{InvalidField, "Invalid Field in Command", "a field holds a value that is reserved, unsupported or out of its range"},
	{CommandIDConflict, "Command ID Conflict", "another command with this identifier is still outstanding in the queue"},
	{DataTransferError, "Data Transfer Error", "moving data or metadata between host and controller failed"},
	{AbortedPowerLoss, "Commands Aborted due to Power Loss Notification", "the controller was told that power is about to go"},
	{InternalError, "Internal Error", "the controller failed inside; the error log may say more"},
	{AbortRequested, "Command Abort Requested", "an Abort command named this command"},
	{AbortedSQDeletion, "Command Aborted due to SQ Deletion", "the submission queue that held the command was deleted"},
	{AbortedFailedFused, "Command Aborted due to Failed Fused Command", "the other half of the fused pair failed"},
	{AbortedMissingFused, "Command Aborted due to Missing Fused Command", "the other half of the fused pair is not in the next slot"},
	{InvalidNamespaceOrFormat, "Invalid Namespace or Format", "the namespace does not exist, is not attached, or its format does not allow this"},
	{CommandSequenceError, "Command Sequence Error", "commands of a sequence came in a wrong order"},
	{InvalidSGLSegment, "Invalid SGL Segment Descriptor", "a scatter gather segment descriptor is wrong"},
	{InvalidSGLCount, "Invalid Number of SGL Descriptors", "a segment descriptor stands where only the last one may"},
	{DataSGLLengthInvalid, "Data SGL Length Invalid", "the data scatter gather list does not cover what the command transfers"},
	{MetadataSGLLengthInvalid, "Metadata SGL Length Invalid", "the metadata scatter gather list does not cover what the command transfers"},
	{SGLTypeInvalid, "SGL Descriptor Type Invalid", "the controller does not support this kind of scatter gather descriptor"},
	{InvalidUseOfCMB, "Invalid Use of Controller Memory Buffer", "the controller memory buffer may not be used in this way"},
	{PRPOffsetInvalid, "PRP Offset Invalid", "a physical region page entry has an offset that is not allowed"},
	{AtomicWriteUnitExceeded, "Atomic Write Unit Exceeded", "the write is longer than the controller writes atomically"},
	{OperationDenied, "Operation Denied", "access rights do not allow the command"},
	{SGLOffsetInvalid, "SGL Offset Invalid", "an offset in a scatter gather descriptor is wrong"},
	{HostIDInconsistentFormat, "Host Identifier Inconsistent Format", "64-bit and 128-bit host identifiers are in use at once"},
	{KeepAliveExpired, "Keep Alive Timer Expired", "the host kept silent for longer than the keep alive time"},
	{KeepAliveTimeoutInvalid, "Keep Alive Timeout Invalid", "the controller does not accept this keep alive time"},
	{AbortedPreemptAndAbort, "Command Aborted due to Preempt and Abort", "another host took the reservation over and aborted commands"},
	{SanitizeFailed, "Sanitize Failed", "the last sanitize failed and nothing has recovered the media since"},
	{SanitizeInProgress, "Sanitize In Progress", "the command has to wait until the sanitize ends"},
	{SGLDataBlockGranularityInvalid, "SGL Data Block Granularity Invalid", "a scatter gather data block is misaligned or of an odd length"},
	{CommandNotSupportedInCMB, "Command Not Supported for Queue in CMB", "queues in controller memory cannot take this command"},
	{NamespaceWriteProtected, "Namespace is Write Protected", "write protection is on for the namespace"},
	{CommandInterrupted, "Command Interrupted", "the controller could not finish the command; send it again"},
	{TransientTransportError, "Transient Transport Error", "the transport had a passing fault; a retry is likely to work"},
	{ProhibitedByLockdown, "Command Prohibited by Command and Feature Lockdown", "a lockdown forbids this command or feature"},
	{AdminMediaNotReady, "Admin Command Media Not Ready", "the admin command needs the media, which is not ready yet"},
	{InvalidKeyTag, "Invalid Key Tag", "no media encryption key belongs to this key tag"},
	{HostDispersedNSNotEnabled, "Host Dispersed Namespace Support Not Enabled", "the host has not said that it understands dispersed namespaces"},
	{HostIDNotInitialized, "Host Identifier Not Initialized", "the host has to set its identifier first"},
	{IncorrectKey, "Incorrect Key", "the media encryption key does not fit the data"},
	{FDPDisabled, "FDP Disabled", "flexible data placement is off in the endurance group"},
	{InvalidPlacementHandleList, "Invalid Placement Handle List", "the namespace's placement handles are wrong, restricted or too many"},
	{LBAOutOfRange, "LBA Out of Range", "the block range ends beyond the namespace"},
	{CapacityExceeded, "Capacity Exceeded", "the write would use more than the namespace's capacity"},
	{NamespaceNotReady, "Namespace Not Ready", "the namespace cannot be accessed for now"},
	{ReservationConflict, "Reservation Conflict", "another host holds a reservation on the namespace"},
	{FormatInProgress, "Format In Progress", "the namespace is being formatted"},
	{InvalidValueSize, "Invalid Value Size", "the value is longer than the namespace stores"},
	{InvalidKeySize, "Invalid Key Size", "the key is empty or longer than the namespace allows"},
	{KeyDoesNotExist, "KV Key Does Not Exist", "no value is stored under this key"},
	{UnrecoveredError, "Unrecovered Error", "the value could not be read from the media"},
	{KeyExists, "Key Exists", "a value is stored under this key already"},
	{CompletionQueueInvalid, "Completion Queue Invalid", "the completion queue does not exist"},
	{InvalidQueueIdentifier, "Invalid Queue Identifier", "the queue identifier is in use or out of range"},
	{InvalidQueueSize, "Invalid Queue Size", "the controller does not support a queue of this size"},
	{AbortLimitExceeded, "Abort Command Limit Exceeded", "more Abort commands are outstanding than the controller takes"},
	{AsyncEventLimitExceeded, "Asynchronous Event Request Limit Exceeded", "more event requests are outstanding than the controller takes"},
	{InvalidFirmwareSlot, "Invalid Firmware Slot", "the slot does not exist or is read only"},
	{InvalidFirmwareImage, "Invalid Firmware Image", "the image was not accepted"},
	{InvalidInterruptVector, "Invalid Interrupt Vector", "the interrupt vector is out of range"},
	{InvalidLogPage, "Invalid Log Page", "the controller does not have this log page"},
	{InvalidFormat, "Invalid Format", "the LBA format or its settings are not supported"},
	{FirmwareNeedsConventionalReset, "Firmware Activation Requires Conventional Reset", "committed; a conventional reset makes it active"},
	{InvalidQueueDeletion, "Invalid Queue Deletion", "a completion queue that submission queues still use cannot be deleted"},
	{FeatureNotSaveable, "Feature Identifier Not Saveable", "the feature has no saved value"},
	{FeatureNotChangeable, "Feature Not Changeable", "the feature's value is fixed"},
	{FeatureNotNamespaceSpecific, "Feature Not Namespace Specific", "the feature applies to all namespaces; name none"},
	{FirmwareNeedsSubsystemReset, "Firmware Activation Requires NVM Subsystem Reset", "committed; an NVM subsystem reset makes it active"},
	{FirmwareNeedsControllerReset, "Firmware Activation Requires Controller Level Reset", "committed; a controller reset makes it active"},
	{FirmwareNeedsMaxTimeViolation, "Firmware Activation Requires Maximum Time Violation", "activation now would take longer than the controller promises"},
	{FirmwareActivationProhibited, "Firmware Activation Prohibited", "the controller refuses to make this image active"},
	{OverlappingRange, "Overlapping Range", "parts of the firmware image, or of the range list, overlap"},
	{NamespaceInsufficientCapacity, "Namespace Insufficient Capacity", "too little unallocated space for the namespace"},
	{NamespaceIDUnavailable, "Namespace Identifier Unavailable", "no more namespaces can be created"},
	{NamespaceAlreadyAttached, "Namespace Already Attached", "the controller has the namespace already"},
	{NamespaceIsPrivate, "Namespace Is Private", "another controller has this private namespace"},
	{NamespaceNotAttached, "Namespace Not Attached", "the controller does not have the namespace"},
	{ThinProvisioningNotSupported, "Thin Provisioning Not Supported", "the namespace capacity must equal its size"},
	{ControllerListInvalid, "Controller List Invalid", "a controller identifier in the list is wrong"},
	{SelfTestInProgress, "Device Self-test In Progress", "one self-test runs already"},
	{BootPartitionWriteProhibited, "Boot Partition Write Prohibited", "the boot partition is locked"},
	{InvalidControllerID, "Invalid Controller Identifier", "no controller has this identifier"},
	{InvalidSecondaryControllerState, "Invalid Secondary Controller State", "the secondary controller's state does not allow the action"},
	{InvalidControllerResources, "Invalid Number of Controller Resources", "the controller cannot be given that many resources"},
	{InvalidResourceID, "Invalid Resource Identifier", "the resource does not exist or is in use"},
	{SanitizeProhibitedPMREnabled, "Sanitize Prohibited While Persistent Memory Region is Enabled", "disable the persistent memory region first"},
	{ANAGroupIDInvalid, "ANA Group Identifier Invalid", "the controller does not know this asymmetric access group"},
	{ANAAttachFailed, "ANA Attach Failed", "the namespace's access state does not allow it to be attached"},
	{InsufficientCapacity, "Insufficient Capacity", "too little free space for the operation"},
	{NamespaceAttachmentLimitExceeded, "Namespace Attachment Limit Exceeded", "the controller has as many namespaces as it can"},
	{ProhibitionOfExecutionNotSupported, "Prohibition of Command Execution Not Supported", "this command or feature cannot be locked down"},
	{IOCommandSetNotSupported, "I/O Command Set Not Supported", "the controller does not know the command set"},
	{IOCommandSetNotEnabled, "I/O Command Set Not Enabled", "the command set is known but off"},
	{IOCommandSetCombinationRejected, "I/O Command Set Combination Rejected", "these command sets cannot be on together"},
	{InvalidIOCommandSet, "Invalid I/O Command Set", "the command set does not fit the request"},
	{IdentifierUnavailable, "Identifier Unavailable", "no identifier is left for a new object"},
	{NamespaceIsDispersed, "Namespace is Dispersed", "the namespace is shared between NVM subsystems, which the command does not allow"},
	{InvalidDiscoveryInformation, "Invalid Discovery Information", "the discovery entries do not fit the kind of entity"},
	{ZoningDataStructureLocked, "Zoning Data Structure Locked", "someone else is changing this fabric zoning data"},
	{ZoningDataStructureNotFound, "Zoning Data Structure Not Found", "the fabric zoning data does not exist"},
	{InsufficientDiscoveryResources, "Insufficient Discovery Resources", "no room for more discovery entries"},
	{RequestedFunctionDisabled, "Requested Function Disabled", "fabric zoning is off"},
	{ZoneGroupOriginatorInvalid, "ZoneGroup Originator Invalid", "the zone group belongs to someone else"},
	{InvalidHost, "Invalid Host", "the host is not known"},
	{InvalidNVMSubsystem, "Invalid NVM Subsystem", "the NVM subsystem is not known"},
	{InvalidControllerDataQueue, "Invalid Controller Data Queue", "the controller data queue does not exist"},
	{NotEnoughResources, "Not Enough Resources", "the controller lacks the resources for the request"},
	{ControllerSuspended, "Controller Suspended", "the controller is suspended for a migration"},
	{ControllerNotSuspended, "Controller Not Suspended", "the controller has to be suspended first"},
	{ControllerDataQueueFull, "Controller Data Queue Full", "the controller data queue has no room"},
	{ConflictingAttributes, "Conflicting Attributes", "attributes of the command contradict each other"},
	{InvalidProtectionInformation, "Invalid Protection Information", "the protection fields do not fit the namespace's protection type"},
	{WriteToReadOnlyRange, "Attempted Write to Read Only Range", "the block range is read only"},
	{CommandSizeLimitExceeded, "Command Size Limit Exceeded", "more blocks or ranges than the controller takes in one such command"},
	{InvalidCommandID, "Invalid Command ID", "the command to cancel is the Cancel command itself"},
	{IncompatibleNamespaceOrFormat, "Incompatible Namespace or Format", "source and destination of the copy differ in format"},
	{FastCopyNotPossible, "Fast Copy Not Possible", "a fast copy was asked for, and this range cannot have one"},
	{OverlappingIORange, "Overlapping I/O Range", "source and destination of the copy overlap"},
	{NamespaceNotReachable, "Namespace Not Reachable", "the controller cannot reach the source namespace"},
	{InsufficientResources, "Insufficient Resources", "the controller lacks the resources for the copy"},
	{InsufficientProgramResources, "Insufficient Program Resources", "the controller lacks the resources for the program"},
	{InvalidMemoryNamespace, "Invalid Memory Namespace", "the namespace is no memory namespace the command can use"},
	{InvalidMemoryRangeSet, "Invalid Memory Range Set", "the set of memory ranges is wrong"},
	{InvalidMemoryRangeSetID, "Invalid Memory Range Set Identifier", "no memory range set has this identifier"},
	{InvalidProgramData, "Invalid Program Data", "the program was not accepted"},
	{InvalidProgramIndex, "Invalid Program Index", "no program can be at this index"},
	{InvalidProgramType, "Invalid Program Type", "the controller does not run programs of this type"},
	{MaximumMemoryRangesExceeded, "Maximum Memory Ranges Exceeded", "more memory ranges than the controller takes"},
	{MaximumMemoryRangeSetsExceeded, "Maximum Memory Range Sets Exceeded", "more memory range sets than the controller takes"},
	{MaximumProgramsActivated, "Maximum Programs Activated", "as many programs are active as the controller takes"},
	{MaximumProgramBytesExceeded, "Maximum Program Bytes Exceeded", "the programs take more room than the controller has"},
	{MemoryRangeSetInUse, "Memory Range Set In Use", "a program still uses the memory range set"},
	{NoProgram, "No Program", "no program is at this index"},
	{OverlappingMemoryRanges, "Overlapping Memory Ranges", "memory ranges of the set overlap"},
	{ProgramNotActivated, "Program Not Activated", "activate the program first"},
	{ProgramInUse, "Program In Use", "the program runs"},
	{ProgramIndexNotDownloadable, "Program Index Not Downloadable", "the program at this index is fixed"},
	{ProgramTooBig, "Program Too Big", "the program is longer than the controller takes"},
	{MediaVerificationReadSuccessful, "Successful Media Verification Read", "the read succeeded; sanitized media is being verified, so this is no user data"},
	{InvalidZoneOperationRequest, "Invalid Zone Operation Request", "the zone's state does not allow the operation"},
	{ZRWAResourcesUnavailable, "ZRWA Resources Unavailable", "no zone random write area is free"},
	{ZoneBoundaryError, "Zone Boundary Error", "the range crosses a zone boundary or the zone's capacity"},
	{ZoneIsFull, "Zone Is Full", "nothing more can be written to the zone before a reset"},
	{ZoneIsReadOnly, "Zone Is Read Only", "the zone can no longer be written"},
	{ZoneIsOffline, "Zone Is Offline", "the zone can be neither read nor written"},
	{ZoneInvalidWrite, "Zone Invalid Write", "the write does not start at the zone's write pointer"},
	{TooManyActiveZones, "Too Many Active Zones", "finish or reset a zone first"},
	{TooManyOpenZones, "Too Many Open Zones", "close or finish a zone first"},
	{InvalidZoneStateTransition, "Invalid Zone State Transition", "the zone cannot go from its state to the one asked for"},
	{WriteFault, "Write Fault", "the data could not be written to the media"},
	{UnrecoveredReadError, "Unrecovered Read Error", "the data could not be read back from the media"},
	{GuardCheckError, "End-to-end Guard Check Error", "the checksum in the protection information does not fit the data"},
	{ApplicationTagCheckError, "End-to-end Application Tag Check Error", "the application tag differs from the expected one"},
	{ReferenceTagCheckError, "End-to-end Reference Tag Check Error", "the reference tag does not belong to this block"},
	{CompareFailure, "Compare Failure", "the data on the drive differs from the data given"},
	{AccessDenied, "Access Denied", "access rights do not cover the namespace or the range"},
	{DeallocatedOrUnwritten, "Deallocated or Unwritten Logical Block", "the range holds blocks that were never written, or trimmed"},
	{StorageTagCheckError, "End-to-End Storage Tag Check Error", "the storage tag differs from the expected one"},
	{InternalPathError, "Internal Path Error", "this controller failed; another path may work"},
	{ANAPersistentLoss, "Asymmetric Access Persistent Loss", "this controller will not reach the namespace again"},
	{ANAInaccessible, "Asymmetric Access Inaccessible", "this controller cannot reach the namespace now"},
	{ANATransition, "Asymmetric Access Transition", "the namespace is changing its access state"},
	{ControllerPathingError, "Controller Pathing Error", "the controller saw a fault of the path"},
	{HostPathingError, "Host Pathing Error", "the host saw a fault of the path"},
	{CommandAbortedByHost, "Command Aborted By Host", "the host gave the command up: a time-out, a reset or a removal"},
}

func (c Code) info() (codeInfo, bool) {
	i, ok := slices.BinarySearchFunc(codeTable, c, func(e codeInfo, c Code) int { return int(e.code) - int(c) })
	if !ok {
		return codeInfo{}, false
	}
	return codeTable[i], true
}

// Codes lists all codes that have a name, in ascending order.
func Codes() []Code {
	all := make([]Code, len(codeTable))
	for i, e := range codeTable {
		all[i] = e.code
	}
	return all
}

// SCT is the status code type.
func (c Code) SCT() uint8 { return uint8(c >> sctShift) }

// SC is the status code.
func (c Code) SC() uint8 { return uint8(c) }

// Known reports whether the code has a name in the specification.
func (c Code) Known() bool {
	_, ok := c.info()
	return ok
}

// Name is the specification's name of the code, or "Unknown ... Status" with
// the code in hexadecimal.
func (c Code) Name() string {
	if e, ok := c.info(); ok {
		return e.name
	}
	kind := ""
	switch {
	case c.SCT() == sctVendor || c.SC() >= scVendor && c.SCT() <= sctPath:
		kind = "Vendor Specific "
	case c.SCT() == sctGeneric:
		kind = "Generic "
	case c.SCT() == sctSpecific:
		kind = "Command Specific "
	case c.SCT() == sctMedia:
		kind = "Media "
	case c.SCT() == sctPath:
		kind = "Path "
	}
	return fmt.Sprintf("Unknown %sStatus 0x%03x", kind, uint16(c))
}

// Text is one line on what the code means, in words of this package; empty
// for unknown codes.
func (c Code) Text() string {
	e, _ := c.info()
	return e.text
}

// Error is the name with status code type and status code.
func (c Code) Error() string {
	return fmt.Sprintf("%s (sct=%d sc=0x%02x)", c.Name(), c.SCT(), c.SC())
}
