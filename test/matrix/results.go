package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

type outcome int

// Outcomes, the more telling one last: merging keeps the maximum.
const (
	skip outcome = iota
	pass
	fail
)

type result struct {
	outcome outcome
	reason  string // of a skip
}

// results of tests and subtests by name.
type results map[string]result

// parse reads what a test binary prints with -test.v. A parent whose subtests
// were all skipped says nothing of its own and is left out.
func parse(output string) results {
	got := results{}
	last, reasons := "", map[string]string{}
	for line := range strings.SplitSeq(output, "\n") {
		trimmed := strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(trimmed, "=== RUN "); ok {
			last = strings.TrimSpace(name)
			continue
		}
		if name, ok := strings.CutPrefix(trimmed, "=== NAME "); ok {
			last = strings.TrimSpace(name)
			continue
		}
		for prefix, o := range map[string]outcome{"--- PASS: ": pass, "--- FAIL: ": fail, "--- SKIP: ": skip} {
			if rest, ok := strings.CutPrefix(trimmed, prefix); ok {
				name, _, _ := strings.Cut(rest, " (")
				got[name] = result{o, reasons[name]}
			}
		}
		if _, text, ok := strings.Cut(trimmed, "_test.go:"); ok {
			_, reasons[last], _ = strings.Cut(text, ": ")
		}
	}
	for name := range got {
		if got[name].outcome == pass && got.onlySkippedBelow(name) {
			delete(got, name)
		}
	}
	return got
}

func (r results) onlySkippedBelow(name string) bool {
	any := false
	for sub, res := range r {
		if strings.HasPrefix(sub, name+"/") {
			any = true
			if res.outcome != skip {
				return false
			}
		}
	}
	return any
}

func (r results) merge(other results) {
	for name, res := range other {
		if have, ok := r[name]; !ok || res.outcome > have.outcome {
			r[name] = res
		}
	}
}

func (r results) count(o outcome) int {
	n := 0
	for _, res := range r {
		if res.outcome == o {
			n++
		}
	}
	return n
}

func (r results) names() []string { return slices.Sorted(maps.Keys(r)) }

func (r results) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", r.count(pass), r.count(fail), r.count(skip))
}
