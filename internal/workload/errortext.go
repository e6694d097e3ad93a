package workload

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/nvme"
)

// errorText names the kind of a command's error for the tally: the drive's
// status or the kernel's errno, never one as the other.
func errorText(err error) string {
	var status *nvme.StatusError
	if errors.As(err, &status) {
		code := status.Status.Code()
		return fmt.Sprintf("%s (%#x)", code.Name(), uint16(code))
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		if name := sys.ErrnoName(errno); name != "" {
			return name
		}
		return fmt.Sprintf("errno %d", int(errno))
	}
	return "short transfer"
}
