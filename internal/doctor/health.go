package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/nvmepass/nvmepass/internal/inventory"
)

// health: a hot drive throttles, and one with a critical warning may do
// anything.
func (m *Machine) health(ctx context.Context, c *inventory.Controller) []Finding {
	const source = "the SMART log"
	h, err := m.Health(ctx, c.Node)
	if err != nil {
		f := Finding{
			ID: "health", Severity: Note, Found: "not read: " + err.Error(), Source: source,
			Why: "whether the drive is worn or throttles is not known", Fix: []string{"sudo nvmepass smart " + c.Node},
		}
		return append([]Finding{f}, m.sensor(c)...)
	}
	log := h.Log
	var out []Finding
	if h.Healthy {
		out = append(out, fine("critical-warning", "none", source))
	} else {
		out = append(out, Finding{
			ID: "critical-warning", Severity: Warning, Found: log.CriticalWarning.String(), Source: source,
			Why: "the drive may be slow, read only or about to fail; figures are not those of a sound one", Fix: []string{"sudo nvmepass smart " + c.Node},
		})
	}
	out = append(out, temperature(h.TemperatureCelsius, h.WarningCelsius, source)...)
	if t := log.ThermalTime; t[0]|t[1] != 0 || log.WarningTempTime|log.CriticalTempTime != 0 {
		out = append(out, Finding{
			ID: "throttling", Severity: Note, Source: source,
			Found: fmt.Sprintf("in its life the drive was throttled for %d s (heavily for %d s), and above its warning temperature for %d min", uint64(t[0])+uint64(t[1]), t[1], uint64(log.WarningTempTime)+uint64(log.CriticalTempTime)),
			Why:   "it gets hot under load: watch whether these counters grow during a run", Fix: []string{"sudo nvmepass smart " + c.Node + "    # before and after a run"},
		})
	} else {
		out = append(out, fine("throttling", "never throttled", source))
	}
	return out
}

// nearWarning is how close to the warning temperature a drive should not be
// before a run, in degrees.
const nearWarning = 10

func temperature(now, warning *int, source string) []Finding {
	const id = "temperature"
	const fix = "let the drive cool down, or give it air"
	switch {
	case now == nil:
		return nil
	case warning == nil || *now < *warning-nearWarning:
		return []Finding{fine(id, fmt.Sprintf("%d C", *now), source)}
	case *now < *warning:
		return []Finding{{ID: id, Severity: Note, Found: fmt.Sprintf("%d C, warning at %d C", *now, *warning), Source: source, Why: "under load the drive may reach the temperature at which it throttles", Advice: fix}}
	}
	return []Finding{{ID: id, Severity: Warning, Found: fmt.Sprintf("%d C, warning at %d C", *now, *warning), Source: source, Why: "the drive throttles or is about to", Advice: fix}}
}

// sensor is the temperature as the kernel shows it to everybody.
func (m *Machine) sensor(c *inventory.Controller) []Finding {
	for _, pattern := range []string{"hwmon*", "hwmon/hwmon*"} {
		dirs, err := filepath.Glob(filepath.Join(c.Dir, pattern))
		if err != nil {
			continue
		}
		for _, dir := range dirs {
			dir = m.shown(dir)
			if now := m.thousandth(dir + "/temp1_input"); now != nil {
				return temperature(now, m.thousandth(dir+"/temp1_max"), dir+"/temp1_input")
			}
		}
	}
	return nil
}

// thousandth reads a number of thousandths; nil if it is not there.
func (m *Machine) thousandth(file string) *int {
	n, err := strconv.Atoi(m.read(file))
	if err != nil {
		return nil
	}
	n /= 1000
	return &n
}

// powerStates: a drive that saves power takes time to wake.
func (m *Machine) powerStates(c *inventory.Controller) []Finding {
	const id = "power-states"
	file := "/sys/class/nvme/" + c.Name + "/power/pm_qos_latency_tolerance_us"
	tolerance := m.read(file)
	if tolerance == "" { // the driver shows it only for drives that have APST
		return nil
	}
	if tolerance == "0" {
		return []Finding{fine(id, "the drive changes its power state only when told", file)}
	}
	return []Finding{{
		ID: id, Severity: Note, Found: "an idle drive saves power by itself, as long as it wakes within " + tolerance + " us", Source: file,
		Why: "the first commands after a pause are slow, which warm-up hides and rate-limited runs show",
		Fix: []string{write("0", file)}, Undo: []string{write(tolerance, file)},
	}}
}
