package nvme

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDecodeFDPEvents(t *testing.T) {
	b := make([]byte, 64+2*64+63)
	le := binary.LittleEndian
	le.PutUint32(b, 1<<31) // more than the buffer holds
	e := b[64:]
	e[0], e[1] = 0x80, 0x07
	le.PutUint16(e[2:], 0x8001)
	le.PutUint64(e[4:], 0xff01_018b_cfe5_6800) // the upper bits are the origin of the clock
	le.PutUint32(e[12:], 3)
	e[16] = 1
	le.PutUint16(e[18:], 4)
	le.PutUint64(e[20:], 0x1122334455667788)
	le.PutUint16(e[32:], 5)
	le.PutUint16(e[34:], 6)
	e = b[128:]
	e[0] = 3
	e[16], e[18] = 1, 9 // of no meaning with this type
	events, err := DecodeFDPEvents(b)
	require.NoError(t, err)
	require.Equal(t, []FDPEvent{
		{Type: FDPReallocated, HasPID: true, HasNSID: true, HasLocation: true, PID: 0x8001, NSID: 3, Timestamp: 0x018b_cfe5_6800, Group: 5, Handle: 6,
			Moved: 4, HasLBA: true, LBA: 0x1122334455667788},
		{Type: FDPInvalidPlacement},
	}, events)
	require.Equal(t, time.Date(2023, 11, 14, 22, 13, 20, 0, time.UTC), events[0].Time().UTC())
	le.PutUint32(b, 1)
	events, err = DecodeFDPEvents(b)
	require.NoError(t, err)
	require.Len(t, events, 1)
	_, err = DecodeFDPEvents(b[:63])
	require.EqualError(t, err, "FDP events log needs 64 bytes, given 63")

	require.Equal(t, 4096, FDPEventsLogSize)
	c := must2(t)(NewGetLogPage(LogFDPEvents, FDPEventsLogSize, LogOptions{LSP: FDPHostEvents, LSI: 2}))
	require.Equal(t, Command{Opcode: 0x02, DataLen: 4096, CDW10: 0x03ff0123, CDW11: 0x00020000}, c)
}

// must2 is must for a call with two results.
func must2(t *testing.T) func(Command, error) Command {
	return func(c Command, err error) Command { t.Helper(); return must(t, c, err) }
}

func TestFDPEventNames(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range []FDPEventType{FDPNotFullyWritten, FDPTimeLimit, FDPReset, FDPInvalidPlacement, FDPReallocated, FDPModified} {
		require.NotContains(t, e.String(), "unknown")
		seen[e.String()] = true
	}
	require.Len(t, seen, 6)
	require.Equal(t, "unknown (0x82)", FDPEventType(0x82).String())
}
