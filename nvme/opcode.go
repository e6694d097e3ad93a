package nvme

import "fmt"

// CommandSet tells command sets apart, because their opcodes overlap. Values
// below [SetAdmin] are the command set identifiers (CSI) of the NVMe base
// specification.
type CommandSet uint8

// Command sets.
const (
	// SetNVM is the NVM command set: logical blocks.
	SetNVM CommandSet = 0x00
	// SetKV is the key value command set.
	SetKV CommandSet = 0x01
	// SetZNS is the zoned namespace command set, a superset of SetNVM.
	SetZNS CommandSet = 0x02
	// SetSLM is the subsystem local memory command set.
	SetSLM CommandSet = 0x03
	// SetCP is the computational programs command set.
	SetCP CommandSet = 0x04
	// SetAdmin stands for admin commands; it is not a CSI.
	SetAdmin CommandSet = 0xff
)

// String names the command set; unknown ones show their number.
func (s CommandSet) String() string {
	switch s {
	case SetNVM:
		return "NVM"
	case SetKV:
		return "KV"
	case SetZNS:
		return "ZNS"
	case SetSLM:
		return "SLM"
	case SetCP:
		return "CP"
	case SetAdmin:
		return "admin"
	}
	return fmt.Sprintf("CSI 0x%02x", uint8(s))
}

// Opcode is an 8-bit command opcode. The same number means different commands
// in different sets: see [Opcode.Name].
type Opcode uint8

// I/O commands of the NVM command set (NVM command set specification, "Opcodes
// for NVM Commands").
const (
	OpFlush              Opcode = 0x00
	OpWrite              Opcode = 0x01
	OpRead               Opcode = 0x02
	OpWriteUncorrectable Opcode = 0x04
	OpCompare            Opcode = 0x05
	OpWriteZeroes        Opcode = 0x08
	OpDSM                Opcode = 0x09
	OpVerify             Opcode = 0x0c
	OpReservationReg     Opcode = 0x0d
	OpReservationReport  Opcode = 0x0e
	OpReservationAcquire Opcode = 0x11
	OpIOMgmtRecv         Opcode = 0x12
	OpReservationRelease Opcode = 0x15
	OpCancel             Opcode = 0x18
	OpCopy               Opcode = 0x19
	OpIOMgmtSend         Opcode = 0x1d
)

// I/O commands that the zoned namespace command set adds.
const (
	OpZoneMgmtSend Opcode = 0x79
	OpZoneMgmtRecv Opcode = 0x7a
	OpZoneAppend   Opcode = 0x7d
)

// I/O commands of the key value command set.
const (
	OpKVStore    Opcode = 0x01
	OpKVRetrieve Opcode = 0x02
	OpKVList     Opcode = 0x06
	OpKVDelete   Opcode = 0x10
	OpKVExist    Opcode = 0x14
)

// Admin commands (base specification, "Opcodes for Admin Commands").
const (
	AdminDeleteIOSQ         Opcode = 0x00
	AdminCreateIOSQ         Opcode = 0x01
	AdminGetLogPage         Opcode = 0x02
	AdminDeleteIOCQ         Opcode = 0x04
	AdminCreateIOCQ         Opcode = 0x05
	AdminIdentify           Opcode = 0x06
	AdminAbort              Opcode = 0x08
	AdminSetFeatures        Opcode = 0x09
	AdminGetFeatures        Opcode = 0x0a
	AdminAsyncEvent         Opcode = 0x0c
	AdminNSMgmt             Opcode = 0x0d
	AdminFWCommit           Opcode = 0x10
	AdminFWDownload         Opcode = 0x11
	AdminSelfTest           Opcode = 0x14
	AdminNSAttach           Opcode = 0x15
	AdminKeepAlive          Opcode = 0x18
	AdminDirectiveSend      Opcode = 0x19
	AdminDirectiveRecv      Opcode = 0x1a
	AdminVirtMgmt           Opcode = 0x1c
	AdminMISend             Opcode = 0x1d
	AdminMIRecv             Opcode = 0x1e
	AdminCapacityMgmt       Opcode = 0x20
	AdminDiscInfoMgmt       Opcode = 0x21
	AdminFabricZoningRecv   Opcode = 0x22
	AdminLockdown           Opcode = 0x24
	AdminFabricZoningLookup Opcode = 0x25
	AdminClearExportedNVM   Opcode = 0x28
	AdminFabricZoningSend   Opcode = 0x29
	AdminCreateExportedNVM  Opcode = 0x2a
	AdminManageExportedNVM  Opcode = 0x2d
	AdminManageExportedNS   Opcode = 0x31
	AdminManageExportedPort Opcode = 0x35
	AdminSendDiscLogPage    Opcode = 0x39
	AdminTrackSend          Opcode = 0x3d
	AdminTrackRecv          Opcode = 0x3e
	AdminMigrationSend      Opcode = 0x41
	AdminMigrationRecv      Opcode = 0x42
	AdminCtrlDataQueue      Opcode = 0x45
	AdminDoorbellConfig     Opcode = 0x7c
	AdminFabrics            Opcode = 0x7f
	AdminFormatNVM          Opcode = 0x80
	AdminSecuritySend       Opcode = 0x81
	AdminSecurityRecv       Opcode = 0x82
	AdminSanitize           Opcode = 0x84
	AdminLoadProgram        Opcode = 0x85
	AdminGetLBAStatus       Opcode = 0x86
	AdminProgramActivation  Opcode = 0x88
	AdminMemoryRangeSetMgmt Opcode = 0x89
)

var nvmOpcodes = map[Opcode]string{
	OpFlush:              "flush",
	OpWrite:              "write",
	OpRead:               "read",
	OpWriteUncorrectable: "write-uncorrectable",
	OpCompare:            "compare",
	OpWriteZeroes:        "write-zeroes",
	OpDSM:                "dsm",
	OpVerify:             "verify",
	OpReservationReg:     "reservation-register",
	OpReservationReport:  "reservation-report",
	OpReservationAcquire: "reservation-acquire",
	OpIOMgmtRecv:         "io-mgmt-recv",
	OpReservationRelease: "reservation-release",
	OpCancel:             "cancel",
	OpCopy:               "copy",
	OpIOMgmtSend:         "io-mgmt-send",
	OpZoneMgmtSend:       "zone-mgmt-send",
	OpZoneMgmtRecv:       "zone-mgmt-recv",
	OpZoneAppend:         "zone-append",
}

var kvOpcodes = map[Opcode]string{
	OpFlush:              "flush",
	OpKVStore:            "kv-store",
	OpKVRetrieve:         "kv-retrieve",
	OpKVList:             "kv-list",
	OpReservationReg:     "reservation-register",
	OpReservationReport:  "reservation-report",
	OpKVDelete:           "kv-delete",
	OpReservationAcquire: "reservation-acquire",
	OpKVExist:            "kv-exist",
	OpReservationRelease: "reservation-release",
	OpCancel:             "cancel",
}

var adminOpcodes = map[Opcode]string{
	AdminDeleteIOSQ:         "delete-io-sq",
	AdminCreateIOSQ:         "create-io-sq",
	AdminGetLogPage:         "get-log-page",
	AdminDeleteIOCQ:         "delete-io-cq",
	AdminCreateIOCQ:         "create-io-cq",
	AdminIdentify:           "identify",
	AdminAbort:              "abort",
	AdminSetFeatures:        "set-features",
	AdminGetFeatures:        "get-features",
	AdminAsyncEvent:         "async-event-request",
	AdminNSMgmt:             "ns-mgmt",
	AdminFWCommit:           "fw-commit",
	AdminFWDownload:         "fw-download",
	AdminSelfTest:           "device-self-test",
	AdminNSAttach:           "ns-attach",
	AdminKeepAlive:          "keep-alive",
	AdminDirectiveSend:      "directive-send",
	AdminDirectiveRecv:      "directive-recv",
	AdminVirtMgmt:           "virt-mgmt",
	AdminMISend:             "mi-send",
	AdminMIRecv:             "mi-recv",
	AdminCapacityMgmt:       "capacity-mgmt",
	AdminDiscInfoMgmt:       "discovery-info-mgmt",
	AdminFabricZoningRecv:   "fabric-zoning-recv",
	AdminLockdown:           "lockdown",
	AdminFabricZoningLookup: "fabric-zoning-lookup",
	AdminClearExportedNVM:   "clear-exported-nvm",
	AdminFabricZoningSend:   "fabric-zoning-send",
	AdminCreateExportedNVM:  "create-exported-nvm",
	AdminManageExportedNVM:  "manage-exported-nvm",
	AdminManageExportedNS:   "manage-exported-ns",
	AdminManageExportedPort: "manage-exported-port",
	AdminSendDiscLogPage:    "send-discovery-log-page",
	AdminTrackSend:          "track-send",
	AdminTrackRecv:          "track-recv",
	AdminMigrationSend:      "migration-send",
	AdminMigrationRecv:      "migration-recv",
	AdminCtrlDataQueue:      "controller-data-queue",
	AdminDoorbellConfig:     "doorbell-buffer-config",
	AdminFabrics:            "fabrics",
	AdminFormatNVM:          "format-nvm",
	AdminSecuritySend:       "security-send",
	AdminSecurityRecv:       "security-recv",
	AdminSanitize:           "sanitize",
	AdminLoadProgram:        "load-program",
	AdminGetLBAStatus:       "get-lba-status",
	AdminProgramActivation:  "program-activation-mgmt",
	AdminMemoryRangeSetMgmt: "memory-range-set-mgmt",
}

// adminVendorFirst is where vendor specific admin opcodes start; those of the
// I/O sets start at 0x80 (base specification, "Opcodes").
const (
	adminVendorFirst Opcode = 0xc0
	ioVendorFirst    Opcode = 0x80
)

// Name is the command's name in the given set, in nvme-cli's spelling. Vendor
// specific and unknown opcodes show their number.
func (o Opcode) Name(set CommandSet) string {
	names, vendor := nvmOpcodes, ioVendorFirst
	switch set {
	case SetKV:
		names = kvOpcodes
	case SetAdmin:
		names, vendor = adminOpcodes, adminVendorFirst
	}
	if n, ok := names[o]; ok {
		return n
	}
	if o >= vendor {
		return fmt.Sprintf("vendor-0x%02x", uint8(o))
	}
	return fmt.Sprintf("opcode-0x%02x", uint8(o))
}

// String names the opcode as one of the NVM and zoned command sets.
func (o Opcode) String() string { return o.Name(SetNVM) }
