package workload

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/nvme"
)

// errorText names the kind of a command's error for the tally: the drive's
// status, the kernel's errno or a block transfer that ended early, never one as
// another.
func errorText(err error) string {
	if status, ok := errors.AsType[*nvme.StatusError](err); ok {
		code := status.Status.Code()
		return fmt.Sprintf("%s (%#x)", code.Name(), uint16(code))
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		if name := sys.ErrnoName(errno); name != "" {
			return name
		}
		return fmt.Sprintf("errno %d", int(errno))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "short transfer"
	}
	return "result that is no success, status or errno"
}
