// Package nvmeioctl sends NVMe commands through the driver's synchronous
// ioctls, which work on controller, generic and block nodes alike and without
// io_uring.
package nvmeioctl

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/nvme"
)

// MaxData bounds the data of one command in bytes; the kernel's own limit for
// passthrough is lower.
const MaxData = 8 << 20

// NSID asks a namespace node which namespace it is.
func NSID(fd int) (uint32, error) {
	id, err := sys.Ioctl(fd, uapi.NVMeIoctlID, nil)
	if err != nil {
		return 0, fmt.Errorf("ask for the namespace ID (NVME_IOCTL_ID): %w%s", err, advice(err))
	}
	return uint32(id), nil
}

// NSIDOf opens a node read-only to ask for its namespace ID.
func NSIDOf(path string) (uint32, error) {
	fd, err := sys.OpenDevice(path, false, false)
	if err != nil {
		return 0, sysfs.OpenError(path, err)
	}
	id, err := NSID(fd)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return id, errors.Join(err, sys.Close(fd))
}

// Admin sends an admin command and waits for it. data, at most MaxData bytes,
// is copied to or from memory of the kernel's liking by the direction of the
// opcode; it sets DataLen. result is the completion's 64 bits (32 on kernels
// before 5.5). An NVMe status is an error of type *nvme.StatusError.
func Admin(fd int, cmd nvme.Command, data []byte) (result uint64, err error) {
	return send(fd, uapi.NVMeIoctlAdmin64Cmd, uapi.NVMeIoctlAdminCmd, cmd, nvme.SetAdmin, data)
}

// IO sends an I/O command; see Admin.
func IO(fd int, cmd nvme.Command, set nvme.CommandSet, data []byte) (result uint64, err error) {
	return send(fd, uapi.NVMeIoctlIO64Cmd, uapi.NVMeIoctlIOCmd, cmd, set, data)
}

func send(fd int, req64, req32 uint32, cmd nvme.Command, set nvme.CommandSet, data []byte) (uint64, error) {
	if len(data) > MaxData {
		return 0, fmt.Errorf("%s by ioctl: %d bytes of data: the limit is %d; split the command", cmd.Opcode.Name(set), len(data), MaxData)
	}
	cmd.DataLen, cmd.Addr = uint32(len(data)), 0
	var buf []byte
	if len(data) > 0 {
		// Off the Go heap: the kernel gets the address as a number, which
		// keeps nothing alive and in place.
		var err error
		if buf, err = sys.MapAnonymous(len(data), false); err != nil {
			return 0, fmt.Errorf("%s by ioctl: map %d bytes: %w", cmd.Opcode.Name(set), len(data), err)
		}
		defer func() { _ = sys.Unmap(buf) }()
		copy(buf, data) // for reads as well: a drive may transfer less than it was offered
		cmd.Addr = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(buf))))
	}
	status, result, err := call(fd, req64, req32, &cmd)
	if err != nil {
		return 0, fmt.Errorf("%s by ioctl: %w%s", cmd.Opcode.Name(set), err, advice(err))
	}
	if err := nvme.NewStatusError(&cmd, set, nvme.Status(status), result); err != nil {
		return result, err
	}
	if buf != nil && !cmd.IsWrite() {
		copy(data, buf)
	}
	return result, nil
}

// Raw sends an I/O command whose addresses the caller has set, to memory that
// stays in place, and returns what a completion of the ring would hold: res 0,
// an NVMe status or a negative errno, and the result.
func Raw(fd int, cmd nvme.Command) (res int32, result uint64) {
	status, result, err := call(fd, uapi.NVMeIoctlIO64Cmd, uapi.NVMeIoctlIOCmd, &cmd)
	if err == nil {
		return int32(status), result
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return -int32(errno), 0
	}
	return -int32(syscall.EINVAL), 0
}

// RawAt is Raw with p as the command's data. The caller keeps p in place.
func RawAt(fd int, cmd nvme.Command, p []byte) (res int32, result uint64) {
	cmd.Addr = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(p))))
	return Raw(fd, cmd)
}

// call performs the ioctl with the 64-bit result, or where the kernel does not
// know it the older one.
func call(fd int, req64, req32 uint32, cmd *nvme.Command) (status int, result uint64, err error) {
	var wire uapi.NVMePassthruCmd64
	image := unsafe.Slice((*byte)(unsafe.Pointer(&wire)), unsafe.Sizeof(wire))
	if err := cmd.Image(image); err != nil {
		return 0, 0, err
	}
	status, err = sys.Ioctl(fd, req64, unsafe.Pointer(&wire))
	result = wire.Result
	if errors.Is(err, syscall.ENOTTY) {
		status, err = sys.Ioctl(fd, req32, unsafe.Pointer(&wire))
		result = uint64(wire.Rsvd2)
	}
	runtime.KeepAlive(&wire)
	return status, result, err
}

func advice(err error) string {
	if errors.Is(err, syscall.ENOTTY) {
		return " (no NVMe node that takes it: use a namespace's /dev/ngXnY or /dev/nvmeXnY, or for admin commands also /dev/nvmeX)"
	}
	return ""
}
