package nvme

import (
	"fmt"
	"strings"
	"time"
)

// Status is the 15-bit NVMe status that a passthrough completion carries when
// its res is positive: status code in bits 0 to 7, status code type in 8 to
// 10, command retry delay in 11 and 12, More in 13, Do Not Retry in 14. The
// phase bit is already gone. 0 is success.
//
// Compare statuses by [Status.Code]: retry delay, More and Do Not Retry do not
// change what happened.
type Status uint16

const (
	statusMask  = 0x7fff
	codeMask    = 0x07ff
	statusMore  = 1 << 13
	statusDNR   = 1 << 14
	crdShift    = 11
	retryUnit   = 100 * time.Millisecond
	sctShift    = 8
	sctGeneric  = 0
	sctSpecific = 1
	sctMedia    = 2
	sctPath     = 3
	sctVendor   = 7
	scVendor    = 0xc0 // first vendor specific status code of each type
)

// StatusFromErrorLog converts the 16-bit status field of an error log entry
// or of a raw completion queue entry, which still carries the phase bit in
// bit 0.
func StatusFromErrorLog(word uint16) Status { return Status(word >> 1) }

// StatusFromResult interprets the res of a passthrough completion. ok is
// false if res is a negative errno: then the kernel refused or cancelled the
// command and there is no NVMe status. A positive res never is a byte count.
func StatusFromResult(res int32) (s Status, ok bool) {
	if res < 0 {
		return 0, false
	}
	return Status(res & statusMask), true
}

// OK reports success: status code type and status code are both 0.
func (s Status) OK() bool { return s&codeMask == 0 }

// SC is the status code, bits 0 to 7.
func (s Status) SC() uint8 { return uint8(s) }

// SCT is the status code type, 0 to 7: generic, command specific, media and
// data integrity, path related, ..., vendor specific.
func (s Status) SCT() uint8 { return uint8(s>>sctShift) & 7 }

// CRD is the command retry delay: 0 for none, 1 to 3 for one of the three
// delays in Identify Controller.
func (s Status) CRD() uint8 { return uint8(s>>crdShift) & 3 }

// More reports that the error information log holds more on this command.
func (s Status) More() bool { return s&statusMore != 0 }

// DNR reports that the same command is expected to fail again (Do Not Retry).
func (s Status) DNR() bool { return s&statusDNR != 0 }

// Code is the status code type and status code alone.
func (s Status) Code() Code { return Code(s & codeMask) }

// Retryable reports a failure without Do Not Retry: the same command may
// succeed later. [Status.RetryDelay] says how much later.
func (s Status) Retryable() bool { return !s.OK() && !s.DNR() }

// RetryDelay is how long to wait before a retry. crdt holds the three command
// retry delay times of Identify Controller ([IdentifyController.CRDT]), in
// units of 100 ms.
func (s Status) RetryDelay(crdt [3]uint16) time.Duration {
	if s.CRD() == 0 {
		return 0
	}
	return time.Duration(crdt[s.CRD()-1]) * retryUnit
}

// String is the name and all parts of the status, for example
// "LBA Out of Range (sct=0 sc=0x80 dnr=1)". The hexadecimal code is there for
// unknown values too.
func (s Status) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (sct=%d sc=0x%02x", s.Code().Name(), s.SCT(), s.SC())
	if s.CRD() != 0 {
		fmt.Fprintf(&b, " crd=%d", s.CRD())
	}
	if s.More() {
		b.WriteString(" more=1")
	}
	if s.DNR() {
		b.WriteString(" dnr=1")
	}
	if s > statusMask {
		fmt.Fprintf(&b, " raw=0x%04x", uint16(s))
	}
	b.WriteByte(')')
	return b.String()
}

// StatusError says that the controller refused or failed a command. It is
// never made from an errno: those are the kernel's and stay syscall.Errno.
type StatusError struct {
	// Status is what the controller answered.
	Status Status
	// Set and Opcode name the command.
	Set    CommandSet
	Opcode Opcode
	NSID   uint32
	// SLBA and NLB are the block range, in logical blocks; NLB is 0 for
	// commands without one.
	SLBA uint64
	NLB  uint32
	// Result is the command specific result, dwords 0 and 1 of the
	// completion.
	Result uint64
}

// NewStatusError describes the failure of c, a command of the given set. It
// returns nil if s is success.
func NewStatusError(c *Command, set CommandSet, s Status, result uint64) error {
	if s.OK() {
		return nil
	}
	e := &StatusError{Status: s, Set: set, Opcode: c.Opcode, NSID: c.NSID, Result: result}
	switch shapeOf(set, c.Opcode).kind {
	case kindBlocks, kindBlocksData, kindAppend:
		e.SLBA, e.NLB = c.SLBA(), c.NLB()
	}
	return e
}

// Error names command, namespace, range and status, for example
// "read nsid=1 slba=0x10 nlb=8: LBA Out of Range (sct=0 sc=0x80 dnr=1)".
func (e *StatusError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s nsid=%d", e.Opcode.Name(e.Set), e.NSID)
	if e.NLB != 0 {
		fmt.Fprintf(&b, " slba=0x%x nlb=%d", e.SLBA, e.NLB)
	}
	if e.Result != 0 {
		fmt.Fprintf(&b, " result=0x%x", e.Result)
	}
	b.WriteString(": ")
	b.WriteString(e.Status.String())
	return b.String()
}

// Is reports whether target is the [Code] of this failure, so that
// errors.Is(err, nvme.LBAOutOfRange) works whatever the retry delay, More and
// Do Not Retry say.
func (e *StatusError) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Status.Code()
}

// Retryable is [Status.Retryable].
func (e *StatusError) Retryable() bool { return e.Status.Retryable() }
