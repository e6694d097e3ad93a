package lab

import (
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// collected maps a place in the guest below /out to the place on the host that its contents go to.
type collected struct {
	guest, host string
	dir         bool
}

// testPlan is what the flags of a test binary ask of the lab.
type testPlan struct {
	args     []string
	collect  []collected
	makeDirs []string
	// timeout of the test binary itself; 0 for none.
	timeout time.Duration
}

// Flags of a test binary that name files. Those in outputDir are placed below -test.outputdir when they are relative.
var (
	testFileFlags = map[string]bool{
		"test.coverprofile": true, "test.cpuprofile": true, "test.memprofile": true, "test.blockprofile": true,
		"test.mutexprofile": true, "test.trace": true,
	}
	testDirFlags = map[string]bool{"test.outputdir": true, "test.gocoverdir": true, "test.fuzzcachedir": true}
)

// planTestFlags rewrites the flags of a test binary so that the files they name are made below /out and collected from there. args
// are those behind the program's name, cwd is the host folder that relative names start from.
//
// -test.testlogfile is dropped: with it, `go test` would reuse the result of an earlier run, though it depends on
// the kernel and the drives, of which `go test` knows nothing.
func planTestFlags(args []string, cwd string) testPlan {
	var p testPlan
	abs := func(base, name string) string {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(base, name)
	}
	outputDir := cwd
	walkTestFlags(args, func(_ int, name, value string) {
		if name == "test.outputdir" && value != "" {
			outputDir = abs(cwd, value)
		}
	})
	flagsEnd := walkTestFlags(args, func(i int, name, value string) {
		switch {
		case name == "test.timeout":
			if d, err := time.ParseDuration(value); err == nil && d > 0 {
				p.timeout = d
			}
			p.args = append(p.args, "-"+name+"="+value)
		case name == "test.testlogfile":
		case testFileFlags[name] && value != "":
			dir := path.Join(testOut, strconv.Itoa(len(p.collect)))
			c := collected{guest: path.Join(dir, filepath.Base(value)), host: abs(outputDir, value)}
			p.makeDirs = append(p.makeDirs, dir)
			p.collect = append(p.collect, c)
			p.args = append(p.args, "-"+name+"="+c.guest)
		case testDirFlags[name] && value != "":
			c := collected{guest: path.Join(testOut, strconv.Itoa(len(p.collect))), host: abs(cwd, value), dir: true}
			p.makeDirs = append(p.makeDirs, c.guest)
			p.collect = append(p.collect, c)
			p.args = append(p.args, "-"+name+"="+c.guest)
		default:
			p.args = append(p.args, args[i])
		}
	})
	p.args = append(p.args, args[flagsEnd:]...)
	return p
}

// walkTestFlags calls f for each flag before the first other argument, and returns that argument's index. The value may be the next
// argument for flags that name files, folders or the time; of the others, the type is not known.
func walkTestFlags(args []string, f func(i int, name, value string)) int {
	i := 0
	for i < len(args) {
		arg := args[i]
		if len(arg) < 2 || arg[0] != '-' || arg == "--" {
			break
		}
		name, value, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		known := testFileFlags[name] || testDirFlags[name] || name == "test.timeout" || name == "test.testlogfile"
		if !hasValue && known && i+1 < len(args) {
			f(i, name, args[i+1])
			i += 2
			continue
		}
		f(i, name, value)
		i++
	}
	return i
}
