package nvme

import (
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// smartBlob is a SMART log in which each field has a value of its own.
func smartBlob() []byte {
	b := make([]byte, SMARTLogSize)
	le := binary.LittleEndian
	b[0] = 0x05
	le.PutUint16(b[1:], 323)
	b[3], b[4], b[5], b[6] = 99, 10, 120, 3
	for i, at := range []int{32, 48, 64, 80, 96, 112, 128, 144, 160, 176} {
		le.PutUint64(b[at:], uint64(1000+i))
	}
	le.PutUint32(b[192:], 11)
	le.PutUint32(b[196:], 12)
	for i := range 8 {
		le.PutUint16(b[200+2*i:], uint16(300+i))
	}
	for i := range 4 {
		le.PutUint32(b[216+4*i:], uint32(20+i))
	}
	return b
}

func TestDecodeSMARTLog(t *testing.T) {
	s, err := DecodeSMARTLog(smartBlob())
	require.NoError(t, err)
	n := func(v uint64) Uint128 { return Uint128{Lo: v} }
	require.Equal(t, &SMARTLog{
		CriticalWarning: 5, Temperature: 323, AvailableSpare: 99, SpareThreshold: 10, PercentageUsed: 120, EnduranceGroupWarning: 3,
		DataUnitsRead: n(1000), DataUnitsWritten: n(1001), HostReads: n(1002), HostWrites: n(1003), ControllerBusy: n(1004),
		PowerCycles: n(1005), PowerOnHours: n(1006), UnsafeShutdowns: n(1007), MediaErrors: n(1008), ErrorLogEntries: n(1009),
		WarningTempTime: 11, CriticalTempTime: 12, Sensors: [8]uint16{300, 301, 302, 303, 304, 305, 306, 307},
		ThermalTransitions: [2]uint32{20, 21}, ThermalTime: [2]uint32{22, 23},
	}, s)
	c, ok := Celsius(s.Temperature)
	require.True(t, ok)
	require.Equal(t, 50, c)
	_, ok = Celsius(0)
	require.False(t, ok)

	j, err := json.Marshal(s)
	require.NoError(t, err)
	require.Contains(t, string(j), `"data_units_read":1000,`)

	_, err = DecodeSMARTLog(make([]byte, 511))
	require.EqualError(t, err, "SMART / Health log needs 512 bytes, given 511")
}

func TestB26DataUnits(t *testing.T) {
	for want, units := range map[string]Uint128{
		"654266017792000":           {Lo: 1277863316},
		"512000":                    {Lo: 1},
		"9444732965739290427392000": {Hi: 1},
		"174224571863520493293247799005065324264960000": {Hi: 1<<64 - 1, Lo: 1<<64 - 1},
	} {
		s := SMARTLog{DataUnitsWritten: units, DataUnitsRead: units}
		require.Equal(t, want, s.BytesWritten().String())
		require.Equal(t, want, s.BytesRead().String())
	}
}

func TestCriticalWarning(t *testing.T) {
	for want, w := range map[string]CriticalWarning{
		"none":                            0,
		"available spare below threshold": WarnSpare,
		"temperature outside its limits, media is read only": WarnTemperature | WarnReadOnly,
		"volatile memory backup failed, unknown (0xc0)":      WarnVolatileBackup | 0xc0,
	} {
		require.Equal(t, want, w.String())
	}
}
