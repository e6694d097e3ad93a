package diff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/record"
)

// Difference is a setting that the records do not have alike.
type Difference struct {
	// Setting is its JSON key; for effective settings with the cell before it.
	Setting string `json:"setting"`
	// Old and New are "-" where the record has none.
	Old string `json:"old"`
	New string `json:"new"`
	// Refused says that runs which differ in it are not compared unless forced.
	Refused bool `json:"refused"`
}

// MismatchError says why two records are not compared.
type MismatchError struct {
	// Old and New are the records' names.
	Old, New string
	// Why says in a sentence what is wrong, Differences in which settings.
	Why         string
	Differences []Difference
	// Remedy says what to do.
	Remedy string
}

var _ error = (*MismatchError)(nil)

// Error names the records, the settings with both values, and the remedy.
func (e *MismatchError) Error() string {
	s := fmt.Sprintf("diff %s %s: %s", e.Old, e.New, e.Why)
	var settings []string
	for _, d := range e.Differences {
		settings = append(settings, fmt.Sprintf("%s is %s against %s", d.Setting, d.Old, d.New))
	}
	if len(settings) > 0 {
		s += ": " + strings.Join(settings, ", ")
	}
	return s + "; " + e.Remedy
}

// unimportant are the settings that runs may differ in and yet compare: which
// cells there are, for how long each ran, in what order.
var unimportant = []string{"devices", "paths", "depths", "rounds", "seed", "warmup_ns", "runtime_ns", "ablate", "block_sizes_bytes"}

func mustMatch(name string) bool { return !slices.Contains(unimportant, name) }
func always(string) bool         { return false }

// differences lists what two lists of settings do not have alike.
func differences(old, updated []record.Setting, refused func(string) bool) []Difference {
	out := []Difference{}
	was := map[string]string{}
	for _, s := range old {
		was[s.Name] = s.Value
	}
	now := map[string]string{}
	for _, s := range updated {
		now[s.Name] = s.Value
	}
	value := func(m map[string]string, name string) string {
		if v, ok := m[name]; ok {
			return v
		}
		return "-"
	}
	add := func(name string) {
		if d := (Difference{name, value(was, name), value(now, name), refused(name)}); d.Old != d.New && !closeTemperatures(d) {
			out = append(out, d)
		}
	}
	for _, s := range old {
		add(s.Name)
	}
	for _, s := range updated {
		if _, ok := was[s.Name]; !ok {
			add(s.Name)
		}
	}
	return out
}

// closeTemperatures spares the list what no drive has alike twice.
func closeTemperatures(d Difference) bool {
	const near = 5
	if !strings.HasSuffix(d.Setting, "_celsius") {
		return false
	}
	a, errA := strconv.Atoi(d.Old)
	b, errB := strconv.Atoi(d.New)
	return errA == nil && errB == nil && a-b < near && b-a < near
}

// effective lists where a cell did not run in the same mode. Settings that
// differ alike in several cells are told once for each of them, since a mode
// may depend on the depth.
func (r *Result) effective(o, n *record.Cell) {
	for _, d := range differences(o.Effective, n.Effective, always) {
		if o.Effective != nil && n.Effective != nil {
			d.Setting = strings.TrimSpace(o.Column+" "+o.Variant) + ": " + d.Setting
			if !slices.Contains(r.Effective, d) {
				r.Effective = append(r.Effective, d)
			}
		}
	}
}

// alike refuses what cannot be compared, and what should not unless forced.
func (r *Result) alike(old, updated *record.Record, force bool) error {
	e := &MismatchError{Old: old.Name, New: updated.Name}
	if old.Schema != updated.Schema {
		e.Why, e.Remedy = fmt.Sprintf("one is a record of nvmepass %s, the other of nvmepass %s", old.Kind, updated.Kind), "give two records of the same command"
		return e
	}
	for _, d := range r.Config {
		if d.Refused {
			e.Differences = append(e.Differences, d)
		}
	}
	if old.Emulated != updated.Emulated {
		e.Differences = append(e.Differences, Difference{"emulated", strconv.FormatBool(old.Emulated), strconv.FormatBool(updated.Emulated), true})
	}
	if len(e.Differences) > 0 && !force {
		e.Why, e.Remedy = "they were not made alike", "record one of them anew, or compare all the same with --force"
		return e
	}
	return nil
}
