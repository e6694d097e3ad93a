package lab

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPlanTestFlags(t *testing.T) {
	for _, c := range []struct {
		name    string
		args    []string
		want    []string
		collect []collected
		timeout time.Duration
	}{
		{name: "none", args: []string{"-test.v=true", "-test.run=^TestX$"}, want: []string{"-test.v=true", "-test.run=^TestX$"}},
		{
			name: "as go test writes them",
			args: []string{"-test.testlogfile=/b/testlog.txt", "-test.paniconexit0", "-test.timeout=10m0s", "-test.coverprofile=/b/_cover_.out", "-test.outputdir=/src"},
			want: []string{"-test.paniconexit0", "-test.timeout=10m0s", "-test.coverprofile=/out/.lab/0/_cover_.out", "-test.outputdir=/out/.lab/1"},
			collect: []collected{{guest: "/out/.lab/0/_cover_.out", host: "/b/_cover_.out"},
				{guest: "/out/.lab/1", host: "/src", dir: true}},
			timeout: 10 * time.Minute,
		},
		{
			name: "relative below outputdir", args: []string{"-test.cpuprofile=cpu.out", "--test.outputdir", "o"},
			want:    []string{"-test.cpuprofile=/out/.lab/0/cpu.out", "-test.outputdir=/out/.lab/1"},
			collect: []collected{{guest: "/out/.lab/0/cpu.out", host: "/cwd/o/cpu.out"}, {guest: "/out/.lab/1", host: "/cwd/o", dir: true}},
		},
		{
			name: "separate values", args: []string{"-test.trace", "t.out", "-test.timeout", "5s", "-test.testlogfile", "x", "-test.gocoverdir", "cov"},
			want:    []string{"-test.trace=/out/.lab/0/t.out", "-test.timeout=5s", "-test.gocoverdir=/out/.lab/1"},
			collect: []collected{{guest: "/out/.lab/0/t.out", host: "/cwd/t.out"}, {guest: "/out/.lab/1", host: "/cwd/cov", dir: true}},
			timeout: 5 * time.Second,
		},
		{
			name: "the program's own arguments stay", args: []string{"-x=1", "file", "-test.cpuprofile=a"},
			want: []string{"-x=1", "file", "-test.cpuprofile=a"},
		},
		{name: "after the dashes", args: []string{"--", "-test.trace=a"}, want: []string{"--", "-test.trace=a"}},
		{name: "no time limit", args: []string{"-test.timeout=0"}, want: []string{"-test.timeout=0"}},
		{name: "value missing", args: []string{"-test.trace"}, want: []string{"-test.trace"}},
		{name: "empty value", args: []string{"-test.trace="}, want: []string{"-test.trace="}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := planTestFlags(c.args, "/cwd")
			require.Equal(t, c.want, p.args)
			require.Equal(t, c.collect, p.collect)
			require.Equal(t, c.timeout, p.timeout)
			require.Len(t, p.makeDirs, len(c.collect))
		})
	}
}
