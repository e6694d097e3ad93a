package nvme

import (
	"fmt"
	"strings"
)

// CommandError says why a command was not built or did not pass [Check]: it
// never reached a drive.
type CommandError struct {
	// Set and Opcode name the command.
	Set    CommandSet
	Opcode Opcode
	NSID   uint32
	// Field is the field or argument at fault, in the spelling of the
	// specification or of struct nvme_uring_cmd: nlb, slba, nsid, data_len,
	// metadata_len, flags, prinfo, reftag, ...
	Field string
	// Reason names value, limit and remedy.
	Reason string
}

// Error names the command, the field and the reason.
func (e *CommandError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s nsid=%d: ", e.Opcode.Name(e.Set), e.NSID)
	if e.Field != "" {
		b.WriteString(e.Field)
		b.WriteString(": ")
	}
	b.WriteString(e.Reason)
	return b.String()
}

func refuse(set CommandSet, op Opcode, nsid uint32, field, format string, args ...any) error {
	return &CommandError{Set: set, Opcode: op, NSID: nsid, Field: field, Reason: fmt.Sprintf(format, args...)}
}
