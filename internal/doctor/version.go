package doctor

import (
	"fmt"
	"regexp"
	"strconv"
)

// version is a kernel version.
type version struct {
	major, minor int
	// patch is -1 where the release does not tell it: distributions keep a
	// name such as 6.1.0-28 over many of them.
	patch int
	// rc is the number of a release candidate, 0 for none.
	rc int
}

func (v version) atLeast(major, minor int) bool {
	return v.major > major || v.major == major && v.minor >= minor
}

// known is false if the release could not be read at all.
func (v version) known() bool { return v.major > 0 }

var (
	releaseForm = regexp.MustCompile(`^(\d+)\.(\d+)(?:\.(\d+))?(?:-rc(\d+))?(-\d)?`)
	// debianForm is in /proc/version, ubuntuForm the whole of
	// /proc/version_signature.
	debianForm = regexp.MustCompile(`Debian (\d+)\.(\d+)\.(\d+)-`)
	ubuntuForm = regexp.MustCompile(`^Ubuntu \S+ (\d+)\.(\d+)\.(\d+)$`)
)

// parseVersion reads uname -r.
func parseVersion(release string) version {
	f := releaseForm.FindStringSubmatch(release)
	if f == nil {
		return version{}
	}
	v := version{major: number(f[1]), minor: number(f[2]), patch: number(f[3]), rc: number(f[4])}
	if f[5] != "" && v.patch == 0 && v.rc == 0 { // 6.1.0-28: the name of an ABI
		v.patch = -1
	}
	return v
}

// version is the kernel's. Debian and Ubuntu tell the patch level elsewhere.
func (m *Machine) version() version {
	v := parseVersion(m.Release)
	if v.patch >= 0 {
		return v
	}
	for _, f := range [][]string{
		debianForm.FindStringSubmatch(m.read("/proc/version")), ubuntuForm.FindStringSubmatch(m.read("/proc/version_signature")),
	} {
		if f != nil && number(f[1]) == v.major && number(f[2]) == v.minor {
			v.patch = number(f[3])
		}
	}
	return v
}

// number reads digits that a pattern matched; too many of them are 0.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// fault is a fault of the kernel: from a version on, up to one without it.
type fault struct {
	id         string
	severity   Severity
	from       [2]int
	until      [2]int
	stable     map[[2]int]int // the first patch level without it, by series
	found, why string
	// advice is what to do, one sentence.
	advice string
}

// affects tells whether a version has the fault; unsure means that its patch
// level decides and is not known.
func (f *fault) affects(v version) (yes, unsure bool) {
	if !v.known() || !v.atLeast(f.from[0], f.from[1]) || v.atLeast(f.until[0], f.until[1]) {
		return false, false
	}
	fixed, ok := f.stable[[2]int{v.major, v.minor}]
	switch {
	case !ok:
		return true, false
	case v.patch < 0:
		return true, true
	}
	return v.patch < fixed, false
}

// finding is the fault as found on a kernel.
func (f *fault) finding(release string, v version) (Finding, bool) {
	yes, unsure := f.affects(v)
	if !yes {
		return Finding{}, false
	}
	found := fmt.Sprintf("kernel %s: %s", release, f.found)
	severity := f.severity
	if unsure {
		found += fmt.Sprintf(" (fixed in %d.%d.%d; this release does not tell its patch level, and it may be fixed here)", v.major, v.minor, f.stable[[2]int{v.major, v.minor}])
		severity = Note
	}
	return Finding{ID: f.id, Severity: severity, Found: found, Source: "uname -r", Why: f.why, Advice: f.advice}, true
}
