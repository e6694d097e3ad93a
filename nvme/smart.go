package nvme

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"strings"
)

// SMARTLogSize is the size in bytes of the SMART / Health log page.
const SMARTLogSize = 512

// dataUnit is what one data unit stands for in bytes, whatever the LBA size:
// a thousand 512-byte units.
const dataUnit = 512000

// SMARTLog is the SMART / Health Information log page (LID 02h, base
// specification). JSON keys are those of nvme-cli.
type SMARTLog struct {
	CriticalWarning CriticalWarning `json:"critical_warning"`
	// Temperature is the composite temperature in kelvins.
	Temperature uint16 `json:"temperature"`
	// AvailableSpare and SpareThreshold are percentages; PercentageUsed is an
	// estimate that may exceed 100.
	AvailableSpare        uint8 `json:"avail_spare"`
	SpareThreshold        uint8 `json:"spare_thresh"`
	PercentageUsed        uint8 `json:"percent_used"`
	EnduranceGroupWarning uint8 `json:"endurance_grp_critical_warning_summary"`
	// DataUnitsRead and DataUnitsWritten count thousands of 512-byte units,
	// rounded up by the drive: see [SMARTLog.BytesRead].
	DataUnitsRead    Uint128 `json:"data_units_read"`
	DataUnitsWritten Uint128 `json:"data_units_written"`
	HostReads        Uint128 `json:"host_read_commands"`
	HostWrites       Uint128 `json:"host_write_commands"`
	// ControllerBusy is in minutes.
	ControllerBusy  Uint128 `json:"controller_busy_time"`
	PowerCycles     Uint128 `json:"power_cycles"`
	PowerOnHours    Uint128 `json:"power_on_hours"`
	UnsafeShutdowns Uint128 `json:"unsafe_shutdowns"`
	MediaErrors     Uint128 `json:"media_errors"`
	ErrorLogEntries Uint128 `json:"num_err_log_entries"`
	// WarningTempTime and CriticalTempTime are minutes above the warning and
	// critical composite temperature.
	WarningTempTime  uint32 `json:"warning_temp_time"`
	CriticalTempTime uint32 `json:"critical_comp_time"`
	// Sensors are temperatures in kelvins; 0 means that there is no such
	// sensor.
	Sensors [8]uint16 `json:"temperature_sensors"`
	// ThermalTransitions and ThermalTime count how often and for how many
	// seconds light (0) and heavy (1) thermal management ran.
	ThermalTransitions [2]uint32 `json:"thm_temp_trans_count"`
	ThermalTime        [2]uint32 `json:"thm_temp_total_time"`
}

// DecodeSMARTLog reads a SMART / Health log page of [SMARTLogSize] bytes.
func DecodeSMARTLog(b []byte) (*SMARTLog, error) {
	if err := need("SMART / Health log", b, SMARTLogSize); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	s := &SMARTLog{
		CriticalWarning:       CriticalWarning(b[0]),
		Temperature:           le.Uint16(b[1:]),
		AvailableSpare:        b[3],
		SpareThreshold:        b[4],
		PercentageUsed:        b[5],
		EnduranceGroupWarning: b[6],
		DataUnitsRead:         uint128At(b[32:]),
		DataUnitsWritten:      uint128At(b[48:]),
		HostReads:             uint128At(b[64:]),
		HostWrites:            uint128At(b[80:]),
		ControllerBusy:        uint128At(b[96:]),
		PowerCycles:           uint128At(b[112:]),
		PowerOnHours:          uint128At(b[128:]),
		UnsafeShutdowns:       uint128At(b[144:]),
		MediaErrors:           uint128At(b[160:]),
		ErrorLogEntries:       uint128At(b[176:]),
		WarningTempTime:       le.Uint32(b[192:]),
		CriticalTempTime:      le.Uint32(b[196:]),
		ThermalTransitions:    [2]uint32{le.Uint32(b[216:]), le.Uint32(b[220:])},
		ThermalTime:           [2]uint32{le.Uint32(b[224:]), le.Uint32(b[228:])},
	}
	for i := range s.Sensors {
		s.Sensors[i] = le.Uint16(b[200+2*i:])
	}
	return s, nil
}

// BytesRead is what the host read in bytes, rounded up by the drive to
// multiples of 512000; it does not depend on the LBA size.
func (s *SMARTLog) BytesRead() *big.Int { return s.DataUnitsRead.Mul(dataUnit) }

// BytesWritten is what the host wrote in bytes, rounded up by the drive to
// multiples of 512000; it does not depend on the LBA size.
func (s *SMARTLog) BytesWritten() *big.Int { return s.DataUnitsWritten.Mul(dataUnit) }

// Celsius converts a temperature in kelvins as NVMe counts them, 273 apart.
// ok is false for 0, which stands for no value.
func Celsius(kelvin uint16) (celsius int, ok bool) {
	return int(kelvin) - 273, kelvin != 0
}

// CriticalWarning are the critical warning bits of the SMART log.
type CriticalWarning uint8

// Critical warnings.
const (
	WarnSpare           CriticalWarning = 1 << 0
	WarnTemperature     CriticalWarning = 1 << 1
	WarnReliability     CriticalWarning = 1 << 2
	WarnReadOnly        CriticalWarning = 1 << 3
	WarnVolatileBackup  CriticalWarning = 1 << 4
	WarnPersistentMem   CriticalWarning = 1 << 5
	criticalWarningBits                 = 6
)

var criticalWarningText = [criticalWarningBits]string{
	"available spare below threshold",
	"temperature outside its limits",
	"reliability degraded by media or internal errors",
	"media is read only",
	"volatile memory backup failed",
	"persistent memory region read only or unreliable",
}

// String lists the warnings, "none" if there is none.
func (w CriticalWarning) String() string {
	if w == 0 {
		return "none"
	}
	var out []string
	for i, text := range criticalWarningText {
		if w>>i&1 != 0 {
			out = append(out, text)
		}
	}
	if rest := w >> criticalWarningBits; rest != 0 {
		out = append(out, fmt.Sprintf("unknown (0x%02x)", uint8(rest<<criticalWarningBits)))
	}
	return strings.Join(out, ", ")
}
