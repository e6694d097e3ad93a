package doctor

import "slices"

// Schema names the JSON form of a Report.
const Schema = "nvmepass.doctor/1"

// Severity grades a finding.
type Severity string

// Severities, the worst first.
const (
	Problem Severity = "problem"
	Warning Severity = "warning"
	Note    Severity = "note"
	OK      Severity = "ok"
)

// Severities lists them, the worst first.
func Severities() []Severity { return []Severity{Problem, Warning, Note, OK} }

// Finding is what one check found.
type Finding struct {
	// ID names the check; it is stable.
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	// Device is the node that it concerns, "" for the whole machine.
	Device string `json:"device"`
	// Found is the value in words, Source the file or call that told it.
	Found  string `json:"found"`
	Source string `json:"source"`
	// Why says what it does to a run or its figures; "" if all is well.
	Why string `json:"why"`
	// Advice says what to do that is no command; "" where the commands are all.
	Advice string `json:"advice"`
	// Fix are the commands that change it, or show more of it. Undo are those
	// that change it back, where Fix changes the system. Both can be given to a
	// shell as they are: what is no command begins with #.
	Fix  []string `json:"fix"`
	Undo []string `json:"undo"`
}

// Counts are the findings by severity.
type Counts struct {
	Problems int `json:"problems"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
	OK       int `json:"ok"`
}

// Report is all that was found, the worst first.
type Report struct {
	Schema string `json:"schema"`
	Kernel string `json:"kernel"`
	// Devices are the namespaces that were looked at, by node.
	Devices []string `json:"devices"`
	// Possible: nothing found makes a polled passthrough run impossible.
	Possible bool      `json:"polled_passthrough_possible"`
	Counts   Counts    `json:"counts"`
	Findings []Finding `json:"findings"`
}

// finish sorts and counts.
func (r *Report) finish() {
	rank := func(f Finding) int { return slices.Index(Severities(), f.Severity) }
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return rank(a) - rank(b) })
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Fix == nil {
			f.Fix = []string{}
		}
		if f.Undo == nil {
			f.Undo = []string{}
		}
		switch f.Severity {
		case Problem:
			r.Counts.Problems++
		case Warning:
			r.Counts.Warnings++
		case Note:
			r.Counts.Notes++
		case OK:
			r.Counts.OK++
		}
	}
	r.Possible = r.Counts.Problems == 0
}

// fine is a finding of nothing wrong.
func fine(id, found, source string) Finding {
	return Finding{ID: id, Severity: OK, Found: found, Source: source}
}
