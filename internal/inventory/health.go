package inventory

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// HealthSchema names the JSON form of a HealthReport.
const HealthSchema = "nvmepass.smart/1"

// HealthReport is the health of some controllers.
type HealthReport struct {
	Schema  string   `json:"schema"`
	Devices []Health `json:"devices"`
}

// Health is the SMART log of a controller with the thresholds that belong to
// it. Integers are plain digits of any length.
type Health struct {
	// Path is as given, Controller the node that was asked.
	Path       string `json:"path"`
	Controller string `json:"controller"`
	// Error says why there is no log; then Log is nil.
	Error    string `json:"error"`
	Model    string `json:"model"`
	Serial   string `json:"serial"`
	Firmware string `json:"firmware"`
	// Healthy: there is a log and no critical warning in it.
	Healthy bool `json:"healthy"`
	// Warnings are the critical warnings in words.
	Warnings []string `json:"critical_warnings"`
	// Temperatures are in degrees Celsius, nil where the drive has none.
	TemperatureCelsius *int `json:"temperature_celsius"`
	WarningCelsius     *int `json:"warning_temperature_celsius"`
	CriticalCelsius    *int `json:"critical_temperature_celsius"`
	// Sensors are those that the drive has, by number from 1.
	Sensors []Sensor `json:"sensors"`
	// BytesRead and BytesWritten are rounded up by the drive to multiples of
	// 512000.
	BytesRead    *big.Int       `json:"bytes_read"`
	BytesWritten *big.Int       `json:"bytes_written"`
	Log          *nvme.SMARTLog `json:"log"`
}

// Sensor is a temperature sensor.
type Sensor struct {
	Number  int `json:"number"`
	Celsius int `json:"celsius"`
}

// ReadHealth reads the SMART log of a controller, or of the controller of a
// namespace, by ioctl. It needs CAP_SYS_ADMIN. Health.Error says what went
// wrong, and so does the error.
func ReadHealth(ctx context.Context, path string) (Health, error) {
	h := Health{Path: path, Warnings: []string{}, Sensors: []Sensor{}}
	c, err := passthru.OpenController(path, &passthru.ControllerConfig{NoRing: true})
	if err != nil {
		h.Error = err.Error()
		return h, err
	}
	h.Controller = c.Path()
	id := c.Identity()
	h.Model, h.Serial, h.Firmware = id.MN, id.SN, id.FR
	log, err := c.SMART(ctx)
	if err = errors.Join(err, c.Close()); err != nil {
		err = fmt.Errorf("health of %.200s: %w", path, err)
		h.Error = err.Error()
		return h, err
	}
	h.Fill(id, log)
	return h, nil
}

// Fill adds a log and the thresholds of the controller that it came from.
func (h *Health) Fill(id *nvme.IdentifyController, log *nvme.SMARTLog) {
	h.Log = log
	h.Healthy = log.CriticalWarning == 0
	h.Warnings = warningsOf(log.CriticalWarning)
	h.TemperatureCelsius = celsius(log.Temperature)
	h.WarningCelsius, h.CriticalCelsius = celsius(id.WCTEMP), celsius(id.CCTEMP)
	h.Sensors = []Sensor{}
	for i, kelvin := range log.Sensors {
		if c := celsius(kelvin); c != nil {
			h.Sensors = append(h.Sensors, Sensor{Number: i + 1, Celsius: *c})
		}
	}
	h.BytesRead, h.BytesWritten = log.BytesRead(), log.BytesWritten()
}

func celsius(kelvin uint16) *int {
	c, ok := nvme.Celsius(kelvin)
	if !ok {
		return nil
	}
	return &c
}

// warningsOf splits the warnings, bit by bit.
func warningsOf(w nvme.CriticalWarning) []string {
	out := []string{}
	for i := range 8 {
		if one := w & (1 << i); one != 0 {
			out = append(out, one.String())
		}
	}
	return out
}
