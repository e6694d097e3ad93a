package report

import (
	"fmt"
	"io"
	"math/big"
	"strings"

	"github.com/nvmepass/nvmepass/internal/inventory"
)

// Health writes the health of controllers, but for those without a log, whose error is the caller's to tell.
func Health(w io.Writer, r *inventory.HealthReport) error {
	s := sheet{keys: 24}
	for i := range r.Devices {
		if r.Devices[i].Log != nil {
			healthOf(&s, &r.Devices[i])
		}
	}
	return emit(w, s.b.String())
}

func healthOf(s *sheet, h *inventory.Health) {
	verdict, colour := "healthy", good
	if !h.Healthy {
		verdict, colour = "CRITICAL WARNING: "+strings.Join(h.Warnings, "; "), bad
	}
	name := h.Controller
	if h.Path != h.Controller {
		name = fmt.Sprintf("%s (controller of %s)", h.Controller, h.Path)
	}
	s.verdict(colour, name+": "+verdict)
	log := h.Log
	s.rowf("drive", "%s, serial %s, firmware %s", h.Model, h.Serial, h.Firmware)
	s.row("critical warnings", log.CriticalWarning.String())
	if log.EnduranceGroupWarning != 0 {
		s.rowf("endurance groups", "0x%02x", log.EnduranceGroupWarning)
	}
	s.row("temperature", temperatureText(h))
	var sensors []string
	for _, sensor := range h.Sensors {
		sensors = append(sensors, fmt.Sprintf("%d: %d C", sensor.Number, sensor.Celsius))
	}
	s.row("temperature sensors", strings.Join(sensors, ", "))
	s.rowf("time too hot", "%d min above the warning, %d min above the critical temperature", log.WarningTempTime, log.CriticalTempTime)
	s.rowf("thermal throttling", "light %d times, %d s; heavy %d times, %d s",
		log.ThermalTransitions[0], log.ThermalTime[0], log.ThermalTransitions[1], log.ThermalTime[1])
	s.rowf("available spare", "%d %%, threshold %d %%", log.AvailableSpare, log.SpareThreshold)
	s.rowf("endurance used", "%d %%", log.PercentageUsed)
	s.row("data read", dataText(h.BytesRead, log.DataUnitsRead.String()))
	s.row("data written", dataText(h.BytesWritten, log.DataUnitsWritten.String()))
	s.row("host read commands", log.HostReads.String())
	s.row("host write commands", log.HostWrites.String())
	s.row("controller busy", log.ControllerBusy.String()+" min")
	s.row("power cycles", log.PowerCycles.String())
	s.row("power on", log.PowerOnHours.String()+" h")
	s.row("unsafe shutdowns", log.UnsafeShutdowns.String())
	s.row("media errors", log.MediaErrors.String())
	s.row("error log entries", log.ErrorLogEntries.String())
}

func temperatureText(h *inventory.Health) string {
	if h.TemperatureCelsius == nil {
		return ""
	}
	text := fmt.Sprintf("%d C", *h.TemperatureCelsius)
	if h.WarningCelsius != nil {
		text += fmt.Sprintf(", warning at %d C", *h.WarningCelsius)
	}
	if h.CriticalCelsius != nil {
		text += fmt.Sprintf(", critical at %d C", *h.CriticalCelsius)
	}
	return text
}

// dataText writes an amount of data exactly and in short. Data units are thousands of 512 bytes, rounded up by the drive.
func dataText(bytes *big.Int, units string) string {
	text := bytes.String() + " B"
	if bytes.IsUint64() {
		if short := decimalSize(bytes.Uint64()); short != text {
			text += " (" + short + ")"
		}
	}
	return text + ", rounded up by the drive (" + units + " data unit" + plurals(units) + ")"
}

// plurals ends the name of what there is a number of.
func plurals(n string) string {
	if n == "1" {
		return ""
	}
	return "s"
}
