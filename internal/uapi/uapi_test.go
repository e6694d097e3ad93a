package uapi

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestB36LayoutMatchesC compares every size, offset and constant with what a C
// compiler made of the kernel's headers (testdata/abi.c).
func TestB36LayoutMatchesC(t *testing.T) {
	var (
		sqe    SQE
		sqe128 SQE128
		cqe    CQE
		p      Params
		sq     SQRingOffsets
		cq     CQRingOffsets
		cmd    NVMePassthruCmd
		cmd64  NVMePassthruCmd64
	)
	ours := map[string]uint64{
		"sizeof.io_uring_sqe":         uint64(unsafe.Sizeof(sqe)),
		"sizeof.io_uring_cqe":         uint64(unsafe.Sizeof(cqe)),
		"sizeof.io_uring_params":      uint64(unsafe.Sizeof(p)),
		"sizeof.io_uring_rsrc_update": uint64(unsafe.Sizeof(RsrcUpdate{})),
		"sizeof.nvme_uring_cmd":       uint64(unsafe.Sizeof(cmd)),
		"sizeof.nvme_passthru_cmd":    uint64(unsafe.Sizeof(cmd)),
		"sizeof.nvme_passthru_cmd64":  uint64(unsafe.Sizeof(cmd64)),
		"io_uring_sqe.opcode":         uint64(unsafe.Offsetof(sqe.Opcode)),
		"io_uring_sqe.flags":          uint64(unsafe.Offsetof(sqe.Flags)),
		"io_uring_sqe.ioprio":         uint64(unsafe.Offsetof(sqe.IOPrio)),
		"io_uring_sqe.fd":             uint64(unsafe.Offsetof(sqe.FD)),
		"io_uring_sqe.off":            uint64(unsafe.Offsetof(sqe.Off)),
		"io_uring_sqe.addr":           uint64(unsafe.Offsetof(sqe.Addr)),
		"io_uring_sqe.len":            uint64(unsafe.Offsetof(sqe.Len)),
		"io_uring_sqe.rw_flags":       uint64(unsafe.Offsetof(sqe.OpFlags)),
		"io_uring_sqe.user_data":      uint64(unsafe.Offsetof(sqe.UserData)),
		"io_uring_sqe.buf_index":      uint64(unsafe.Offsetof(sqe.BufIndex)),
		"io_uring_sqe.personality":    uint64(unsafe.Offsetof(sqe.Personality)),
		"io_uring_sqe.file_index":     uint64(unsafe.Offsetof(sqe.FileIndex)),
		"io_uring_sqe.addr3":          uint64(unsafe.Offsetof(sqe.Cmd)),
		"io_uring_cqe.user_data":      uint64(unsafe.Offsetof(cqe.UserData)),
		"io_uring_cqe.res":            uint64(unsafe.Offsetof(cqe.Res)),
		"io_uring_cqe.flags":          uint64(unsafe.Offsetof(cqe.Flags)),
		"io_uring_params.flags":       uint64(unsafe.Offsetof(p.Flags)),
		"io_uring_params.features":    uint64(unsafe.Offsetof(p.Features)),
		"io_uring_params.sq_off":      uint64(unsafe.Offsetof(p.SQOff)),
		"io_uring_params.cq_off":      uint64(unsafe.Offsetof(p.CQOff)),
		"io_sqring_offsets.array":     uint64(unsafe.Offsetof(sq.Array)),
		"io_cqring_offsets.cqes":      uint64(unsafe.Offsetof(cq.CQEs)),
		"nvme_uring_cmd.nsid":         uint64(unsafe.Offsetof(cmd.NSID)),
		"nvme_uring_cmd.cdw2":         uint64(unsafe.Offsetof(cmd.CDW2)),
		"nvme_uring_cmd.metadata":     uint64(unsafe.Offsetof(cmd.Metadata)),
		"nvme_uring_cmd.addr":         uint64(unsafe.Offsetof(cmd.Addr)),
		"nvme_uring_cmd.metadata_len": uint64(unsafe.Offsetof(cmd.MetadataLen)),
		"nvme_uring_cmd.data_len":     uint64(unsafe.Offsetof(cmd.DataLen)),
		"nvme_uring_cmd.cdw10":        uint64(unsafe.Offsetof(cmd.CDW10)),
		"nvme_uring_cmd.cdw15":        uint64(unsafe.Offsetof(cmd.CDW15)),
		"nvme_uring_cmd.timeout_ms":   uint64(unsafe.Offsetof(cmd.TimeoutMS)),
		"nvme_passthru_cmd.result":    uint64(unsafe.Offsetof(cmd.Result)),
		"nvme_passthru_cmd64.result":  uint64(unsafe.Offsetof(cmd64.Result)),
		"NVME_IOCTL_ID":               uint64(NVMeIoctlID),
		"NVME_IOCTL_ADMIN_CMD":        uint64(NVMeIoctlAdminCmd),
		"NVME_IOCTL_IO_CMD":           uint64(NVMeIoctlIOCmd),
		"NVME_IOCTL_ADMIN64_CMD":      uint64(NVMeIoctlAdmin64Cmd),
		"NVME_IOCTL_IO64_CMD":         uint64(NVMeIoctlIO64Cmd),
		"NVME_URING_CMD_IO":           uint64(NVMeURingCmdIO),
		"NVME_URING_CMD_IO_VEC":       uint64(NVMeURingCmdIOVec),
		"NVME_URING_CMD_ADMIN":        uint64(NVMeURingCmdAdmin),
		"NVME_URING_CMD_ADMIN_VEC":    uint64(NVMeURingCmdAdminVec),
		"IORING_OP_URING_CMD":         OpURingCmd,
		"IORING_OP_READ_FIXED":        OpReadFixed,
		"IORING_OP_WRITE_FIXED":       OpWriteFixed,
		"IORING_OP_READ":              OpRead,
		"IORING_OP_WRITE":             OpWrite,
		"IORING_OFF_SQES":             OffSQEs,
	}
	golden, err := os.ReadFile("testdata/c_abi.golden")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(golden)), "\n")
	require.Len(t, lines, len(ours), "every line of the golden file has its value here and the other way round")
	for _, line := range lines {
		var name string
		var want uint64
		_, err := fmt.Sscanf(line, "%s %d", &name, &want)
		require.NoError(t, err, line)
		got, ok := ours[name]
		require.True(t, ok, "no value for %s", name)
		require.Equal(t, want, got, name)
	}

	// The 128-byte entry differs from the 64-byte one only in its length.
	require.Equal(t, uintptr(CmdOffset), unsafe.Offsetof(sqe.Cmd))
	require.Equal(t, uintptr(CmdOffset), unsafe.Offsetof(sqe128.Cmd))
	require.Equal(t, unsafe.Offsetof(sqe.FileIndex), unsafe.Offsetof(sqe128.FileIndex))
	require.GreaterOrEqual(t, uintptr(CmdSize), unsafe.Sizeof(cmd))
}
