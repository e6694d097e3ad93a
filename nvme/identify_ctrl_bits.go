package nvme

import "fmt"

// Version is an NVMe specification version: major in bits 16 to 31, minor in
// 8 to 15, tertiary in 0 to 7. Controllers before 1.2 report 0.
type Version uint32

// String is the version as "1.4" or "1.2.1", "not reported" for 0.
func (v Version) String() string {
	if v == 0 {
		return "not reported"
	}
	s := fmt.Sprintf("%d.%d", v>>16, v>>8&0xff)
	if v&0xff != 0 {
		s += fmt.Sprintf(".%d", v&0xff)
	}
	return s
}

// AtLeast reports whether the version is major.minor or newer.
func (v Version) AtLeast(major, minor uint8) bool {
	return v>>8 >= Version(major)<<8|Version(minor)
}

// CMIC says how controllers and namespaces are shared.
type CMIC uint8

// MultiPort reports whether the subsystem may have more than one port.
func (v CMIC) MultiPort() bool { return v&1 != 0 }

// MultiController reports whether the subsystem may have more than one controller.
func (v CMIC) MultiController() bool { return v&2 != 0 }

// SRIOV reports whether the controller belongs to a virtual function.
func (v CMIC) SRIOV() bool { return v&4 != 0 }

// ANA reports whether the subsystem reports asymmetric namespace access.
func (v CMIC) ANA() bool { return v&8 != 0 }

// CTRATT are the controller attributes.
type CTRATT uint32

// HostID128 reports support for 128-bit host identifiers.
func (v CTRATT) HostID128() bool { return v&1 != 0 }

// NVMSets reports support for NVM sets.
func (v CTRATT) NVMSets() bool { return v>>2&1 != 0 }

// EnduranceGroups reports support for endurance groups.
func (v CTRATT) EnduranceGroups() bool { return v>>4&1 != 0 }

// UUIDList reports support for the list of UUIDs for vendor specific use.
func (v CTRATT) UUIDList() bool { return v>>9&1 != 0 }

// ExtendedLBAFormats reports support for formats with 32-bit and 64-bit guards and storage tags
// (ELBAS); read [IdentifyNVMNamespace] as well.
func (v CTRATT) ExtendedLBAFormats() bool { return v>>15&1 != 0 }

// MDTSExcludesMetadata reports whether MDTS and the other size limits leave metadata out.
func (v CTRATT) MDTSExcludesMetadata() bool { return v>>16&1 != 0 }

// FDP reports support for flexible data placement.
func (v CTRATT) FDP() bool { return v>>19&1 != 0 }

// OACS are the optional admin commands.
type OACS uint16

// Security reports support for Security Send and Receive.
func (v OACS) Security() bool { return v&1 != 0 }

// Format reports support for Format NVM.
func (v OACS) Format() bool { return v>>1&1 != 0 }

// Firmware reports support for Firmware Commit and Download.
func (v OACS) Firmware() bool { return v>>2&1 != 0 }

// NamespaceManagement reports support for Namespace Management and Attachment.
func (v OACS) NamespaceManagement() bool { return v>>3&1 != 0 }

// SelfTest reports support for Device Self-test.
func (v OACS) SelfTest() bool { return v>>4&1 != 0 }

// Directives reports support for Directive Send and Receive.
func (v OACS) Directives() bool { return v>>5&1 != 0 }

// ManagementInterface reports support for NVMe-MI Send and Receive.
func (v OACS) ManagementInterface() bool { return v>>6&1 != 0 }

// Virtualization reports support for Virtualization Management.
func (v OACS) Virtualization() bool { return v>>7&1 != 0 }

// DoorbellBuffer reports support for Doorbell Buffer Config.
func (v OACS) DoorbellBuffer() bool { return v>>8&1 != 0 }

// LBAStatus reports support for Get LBA Status.
func (v OACS) LBAStatus() bool { return v>>9&1 != 0 }

// Lockdown reports support for Command and Feature Lockdown.
func (v OACS) Lockdown() bool { return v>>10&1 != 0 }

// FRMW describes firmware slots and updates.
type FRMW uint8

// Slot1ReadOnly reports whether slot 1 cannot be written.
func (v FRMW) Slot1ReadOnly() bool { return v&1 != 0 }

// Slots is the number of firmware slots, 1 to 7.
func (v FRMW) Slots() int { return int(v >> 1 & 7) }

// ActivateWithoutReset reports whether new firmware can become active without a reset.
func (v FRMW) ActivateWithoutReset() bool { return v>>4&1 != 0 }

// LPA are the log page attributes.
type LPA uint8

// SMARTPerNamespace reports whether the SMART log exists per namespace.
func (v LPA) SMARTPerNamespace() bool { return v&1 != 0 }

// Effects reports support for the commands supported and effects log.
func (v LPA) Effects() bool { return v>>1&1 != 0 }

// Extended reports whether Get Log Page takes 32-bit lengths and offsets.
func (v LPA) Extended() bool { return v>>2&1 != 0 }

// Telemetry reports support for the telemetry logs.
func (v LPA) Telemetry() bool { return v>>3&1 != 0 }

// PersistentEvents reports support for the persistent event log.
func (v LPA) PersistentEvents() bool { return v>>4&1 != 0 }

// ONCS are the optional NVM commands.
type ONCS uint16

// Compare reports support for Compare.
func (v ONCS) Compare() bool { return v&1 != 0 }

// WriteUncorrectable reports support for Write Uncorrectable.
func (v ONCS) WriteUncorrectable() bool { return v>>1&1 != 0 }

// DSM reports support for Dataset Management.
func (v ONCS) DSM() bool { return v>>2&1 != 0 }

// WriteZeroes reports support for Write Zeroes.
func (v ONCS) WriteZeroes() bool { return v>>3&1 != 0 }

// SaveFeatures reports whether features can be saved.
func (v ONCS) SaveFeatures() bool { return v>>4&1 != 0 }

// Reservations reports support for reservations.
func (v ONCS) Reservations() bool { return v>>5&1 != 0 }

// Timestamp reports support for the timestamp feature.
func (v ONCS) Timestamp() bool { return v>>6&1 != 0 }

// Verify reports support for Verify.
func (v ONCS) Verify() bool { return v>>7&1 != 0 }

// Copy reports support for Copy.
func (v ONCS) Copy() bool { return v>>8&1 != 0 }

// CopyAtomic reports whether the write part of a copy is one atomic write.
func (v ONCS) CopyAtomic() bool { return v>>9&1 != 0 }

// FastCopyOnly reports whether all copies are fast ones.
func (v ONCS) FastCopyOnly() bool { return v>>10&1 != 0 }

// NamespaceZeroes reports whether write zeroes can zero a namespace as a whole
// ([Command.SetNSZ]).
func (v ONCS) NamespaceZeroes() bool { return v>>12&1 != 0 }

// Supports reports whether the controller has an I/O command of the NVM
// command set as far as ONCS tells; mandatory and unknown commands are
// reported as supported.
func (v ONCS) Supports(op Opcode) bool {
	switch op {
	case OpCompare:
		return v.Compare()
	case OpWriteUncorrectable:
		return v.WriteUncorrectable()
	case OpDSM:
		return v.DSM()
	case OpWriteZeroes:
		return v.WriteZeroes()
	case OpVerify:
		return v.Verify()
	case OpCopy:
		return v.Copy()
	case OpReservationReg, OpReservationReport, OpReservationAcquire, OpReservationRelease:
		return v.Reservations()
	}
	return true
}

// FNA describes Format NVM.
type FNA uint8

// FormatAll reports whether formatting applies to all namespaces.
func (v FNA) FormatAll() bool { return v&1 != 0 }

// EraseAll reports whether secure erase applies to all namespaces.
func (v FNA) EraseAll() bool { return v>>1&1 != 0 }

// CryptoErase reports whether cryptographic erase is supported.
func (v FNA) CryptoErase() bool { return v>>2&1 != 0 }

// VWC describes the volatile write cache.
type VWC uint8

// Present reports whether there is a volatile write cache.
func (v VWC) Present() bool { return v&1 != 0 }

// FlushAll reports whether a flush may name all namespaces at once.
func (v VWC) FlushAll() bool { return v>>1&3 == 3 }

// OCFS are the supported copy formats.
type OCFS uint16

// Format reports whether copy takes the format.
func (v OCFS) Format(f CopyFormat) bool { return f < 16 && v>>f&1 != 0 }

// SGLS describes support for scatter gather lists.
type SGLS uint32

// Supported reports whether the NVM command set takes scatter gather lists.
func (v SGLS) Supported() bool { return v&3 != 0 }

// DwordAligned reports whether data blocks have to be 4-byte aligned and sized.
func (v SGLS) DwordAligned() bool { return v&3 == 2 }

// MetadataSGL reports whether metadata may be described by a scatter gather list.
func (v SGLS) MetadataSGL() bool { return v>>19&1 != 0 }
