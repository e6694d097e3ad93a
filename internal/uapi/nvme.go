package uapi

import (
	"structs"

	"github.com/dswarbrick/smart/ioctl"
)

// NVMePassthruCmd is struct nvme_passthru_cmd, and in its first 68 bytes struct
// nvme_uring_cmd: the last word is the 32-bit result of the ioctl and reserved
// in the uring command (include/uapi/linux/nvme_ioctl.h). All members are in
// host byte order.
type NVMePassthruCmd struct {
	_           structs.HostLayout
	Opcode      uint8
	Flags       uint8
	Rsvd1       uint16
	NSID        uint32
	CDW2        uint32
	CDW3        uint32
	Metadata    uint64
	Addr        uint64
	MetadataLen uint32
	DataLen     uint32
	CDW10       uint32
	CDW11       uint32
	CDW12       uint32
	CDW13       uint32
	CDW14       uint32
	CDW15       uint32
	TimeoutMS   uint32
	Result      uint32
}

// NVMePassthruCmd64 is struct nvme_passthru_cmd64, whose result has 64 bits.
type NVMePassthruCmd64 struct {
	_           structs.HostLayout
	Opcode      uint8
	Flags       uint8
	Rsvd1       uint16
	NSID        uint32
	CDW2        uint32
	CDW3        uint32
	Metadata    uint64
	Addr        uint64
	MetadataLen uint32
	DataLen     uint32
	CDW10       uint32
	CDW11       uint32
	CDW12       uint32
	CDW13       uint32
	CDW14       uint32
	CDW15       uint32
	TimeoutMS   uint32
	Rsvd2       uint32
	Result      uint64
}

const (
	passthruCmdSize   = 72
	passthruCmd64Size = 80
)

// Requests of the NVMe character and block devices (nvme_ioctl.h). IOCmd to
// URingAdminVec keep the names of the kernel.
var (
	NVMeIoctlID         = uint32(0x4e40) // _IO('N', 0x40)
	NVMeIoctlAdminCmd   = uint32(ioctl.Iowr('N', 0x41, passthruCmdSize))
	NVMeIoctlIOCmd      = uint32(ioctl.Iowr('N', 0x43, passthruCmdSize))
	NVMeIoctlAdmin64Cmd = uint32(ioctl.Iowr('N', 0x47, passthruCmd64Size))
	NVMeIoctlIO64Cmd    = uint32(ioctl.Iowr('N', 0x48, passthruCmd64Size))

	NVMeURingCmdIO       = uint32(ioctl.Iowr('N', 0x80, passthruCmdSize))
	NVMeURingCmdIOVec    = uint32(ioctl.Iowr('N', 0x81, passthruCmdSize))
	NVMeURingCmdAdmin    = uint32(ioctl.Iowr('N', 0x82, passthruCmdSize))
	NVMeURingCmdAdminVec = uint32(ioctl.Iowr('N', 0x83, passthruCmdSize))
)
