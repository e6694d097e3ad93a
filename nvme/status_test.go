package nvme

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestB01ResultIsErrnoOrStatus(t *testing.T) {
	for res, want := range map[int32]struct {
		ok   bool
		code Code
	}{
		0:      {true, Success},
		0x285:  {true, CompareFailure},
		0x4080: {true, LBAOutOfRange},
		-22:    {false, Success},
		-4:     {false, Success},
		0x7fff: {true, 0x7ff},
	} {
		s, ok := StatusFromResult(res)
		require.Equal(t, want.ok, ok, "res %d", res)
		require.Equal(t, want.code, s.Code(), "res %d", res)
		require.Equal(t, ok && res == 0, ok && s.OK(), "only res 0 is success")
	}
	c := Command{Opcode: OpRead}
	require.NoError(t, NewStatusError(&c, SetNVM, 0, 0))
	require.Error(t, NewStatusError(&c, SetNVM, 0x285, 0))
}

func TestB19StatusBits(t *testing.T) {
	for _, tc := range []struct {
		s    Status
		code Code
		crd  uint8
		more bool
		dnr  bool
		text string
	}{
		{0x0000, Success, 0, false, false, "Success (sct=0 sc=0x00)"},
		{0x0002, InvalidField, 0, false, false, "Invalid Field in Command (sct=0 sc=0x02)"},
		{0x4002, InvalidField, 0, false, true, "Invalid Field in Command (sct=0 sc=0x02 dnr=1)"},
		{0x6002, InvalidField, 0, true, true, "Invalid Field in Command (sct=0 sc=0x02 more=1 dnr=1)"},
		{0x2013, PRPOffsetInvalid, 0, true, false, "PRP Offset Invalid (sct=0 sc=0x13 more=1)"},
		{0x4181, InvalidProtectionInformation, 0, false, true, "Invalid Protection Information (sct=1 sc=0x81 dnr=1)"},
		{0x0285, CompareFailure, 0, false, false, "Compare Failure (sct=2 sc=0x85)"},
		{0x0281, UnrecoveredReadError, 0, false, false, "Unrecovered Read Error (sct=2 sc=0x81)"},
		{0x0287, DeallocatedOrUnwritten, 0, false, false, "Deallocated or Unwritten Logical Block (sct=2 sc=0x87)"},
		{0x4080, LBAOutOfRange, 0, false, true, "LBA Out of Range (sct=0 sc=0x80 dnr=1)"},
		{0x0371, CommandAbortedByHost, 0, false, false, "Command Aborted By Host (sct=3 sc=0x71)"},
		{0x1021, CommandInterrupted, 2, false, false, "Command Interrupted (sct=0 sc=0x21 crd=2)"},
		{0x7fff, 0x7ff, 3, true, true, "Unknown Vendor Specific Status 0x7ff (sct=7 sc=0xff crd=3 more=1 dnr=1)"},
		{0x0055, 0x055, 0, false, false, "Unknown Generic Status 0x055 (sct=0 sc=0x55)"},
		{0x01c1, 0x1c1, 0, false, false, "Unknown Vendor Specific Status 0x1c1 (sct=1 sc=0xc1)"},
		{0x0150, 0x150, 0, false, false, "Unknown Command Specific Status 0x150 (sct=1 sc=0x50)"},
		{0x0201, 0x201, 0, false, false, "Unknown Media Status 0x201 (sct=2 sc=0x01)"},
		{0x0310, 0x310, 0, false, false, "Unknown Path Status 0x310 (sct=3 sc=0x10)"},
		{0x0410, 0x410, 0, false, false, "Unknown Status 0x410 (sct=4 sc=0x10)"},
	} {
		require.Equal(t, tc.code, tc.s.Code())
		require.Equal(t, tc.code.SCT(), tc.s.SCT())
		require.Equal(t, tc.code.SC(), tc.s.SC())
		require.Equal(t, tc.crd, tc.s.CRD())
		require.Equal(t, tc.more, tc.s.More())
		require.Equal(t, tc.dnr, tc.s.DNR())
		require.Equal(t, tc.text, tc.s.String())
		require.Equal(t, tc.code == Success, tc.s.OK())
		require.Equal(t, tc.code != Success && !tc.dnr, tc.s.Retryable())
	}
	require.Equal(t, Status(0x6281), StatusFromErrorLog(0xc502))
	require.Equal(t, UnrecoveredReadError, StatusFromErrorLog(0xc502).Code(), "the phase bit is gone")
	require.Equal(t, UnrecoveredReadError, StatusFromErrorLog(0xc503).Code(), "whatever it was")
	require.Contains(t, Status(0x8002).String(), "raw=0x8002")
}

// No value crashes, and each shows its code in hexadecimal.
func TestB19AllStatuses(t *testing.T) {
	for v := range 1 << 16 {
		s := Status(v)
		text := s.String()
		if !strings.Contains(text, fmt.Sprintf("sct=%d sc=0x%02x", v>>8&7, v&0xff)) {
			t.Fatalf("status %#x: %s", v, text)
		}
	}
}

func TestStatusErrorText(t *testing.T) {
	l := Layout{LBASize: 512}
	read, err := NewRead(1, l, 0x10, 8, IOOptions{})
	require.NoError(t, err)
	for want, err := range map[string]error{
		"read nsid=1 slba=0x10 nlb=8: LBA Out of Range (sct=0 sc=0x80 dnr=1)":      NewStatusError(&read, SetNVM, 0x4080, 0),
		"kv-retrieve nsid=1: Invalid Value Size (sct=0 sc=0x85)":                   NewStatusError(&read, SetKV, 0x85, 0),
		"get-log-page nsid=1: Invalid Log Page (sct=1 sc=0x09)":                    NewStatusError(&read, SetAdmin, 0x109, 0),
		"flush nsid=3 result=0x5: Internal Error (sct=0 sc=0x06)":                  NewStatusError(&Command{NSID: 3}, SetNVM, 6, 5),
		"zone-append nsid=1 slba=0x8000 nlb=1: Zone Is Full (sct=1 sc=0xb9 dnr=1)": NewStatusError(&Command{Opcode: OpZoneAppend, NSID: 1, CDW10: 0x8000}, SetZNS, 0x41b9, 0),
		"verify nsid=1 slba=0x0 nlb=1: Unrecovered Read Error (sct=2 sc=0x81)":     NewStatusError(&Command{Opcode: OpVerify, NSID: 1}, SetNVM, 0x281, 0),
	} {
		require.EqualError(t, err, want)
	}
}

func TestStatusErrorIs(t *testing.T) {
	c := Command{Opcode: OpRead, NSID: 1}
	for _, s := range []Status{0x0080, 0x4080, 0x2080, 0x7880} {
		err := fmt.Errorf("run: %w", NewStatusError(&c, SetNVM, s, 0))
		require.ErrorIs(t, err, LBAOutOfRange, "%#x", uint16(s))
		require.NotErrorIs(t, err, CapacityExceeded)
		require.NotErrorIs(t, err, CompareFailure)
		var se *StatusError
		require.ErrorAs(t, err, &se)
		require.Equal(t, s, se.Status)
		require.Equal(t, !s.DNR(), se.Retryable())
	}
	require.NotErrorIs(t, NewStatusError(&c, SetNVM, 6, 0), errors.ErrUnsupported)
	require.EqualError(t, LBAOutOfRange, "LBA Out of Range (sct=0 sc=0x80)")
	require.ErrorIs(t, LBAOutOfRange, LBAOutOfRange)
}

func TestStatusRetryDelay(t *testing.T) {
	crdt := [3]uint16{1, 20, 0xffff}
	require.Zero(t, Status(0x21).RetryDelay(crdt))
	require.Equal(t, 100*time.Millisecond, Status(0x0821).RetryDelay(crdt))
	require.Equal(t, 2*time.Second, Status(0x1021).RetryDelay(crdt))
	require.Equal(t, 65535*100*time.Millisecond, Status(0x1821).RetryDelay(crdt))
}

func TestCodeTable(t *testing.T) {
	codes := Codes()
	require.True(t, slices.IsSorted(codes))
	require.Equal(t, len(codes), len(slices.Compact(slices.Clone(codes))), "no code twice")
	names := map[string]Code{}
	for _, c := range codes {
		require.True(t, c.Known())
		require.NotEmpty(t, c.Name())
		require.NotEmpty(t, c.Text())
		require.NotContains(t, c.Text(), "\n")
		require.NotContains(t, names, c.Name())
		names[c.Name()] = c
	}
	// As many as the tables of the specification have: generic 42, generic of
	// the I/O sets 10, command specific 58, of the I/O sets 29 and 10 zoned,
	// media 9, path 7.
	count := func(lo, hi Code) (n int) {
		for _, c := range codes {
			if c >= lo && c <= hi {
				n++
			}
		}
		return n
	}
	require.Equal(t, 42, count(0x000, 0x07f))
	require.Equal(t, 10, count(0x080, 0x0ff))
	require.Equal(t, 58, count(0x100, 0x17f))
	require.Equal(t, 39, count(0x180, 0x1ff))
	require.Equal(t, 9, count(0x200, 0x2ff))
	require.Equal(t, 7, count(0x300, 0x3ff))
	require.False(t, Code(0x7ff).Known())
	require.Empty(t, Code(0x7ff).Text())
}
