package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/test/cli"
)

// binary is nvmepass as it ships.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "nvmepass-cli-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "nvmepass")
	build := exec.Command("go", "build", "-o", binary, "../../cmd/nvmepass")
	build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	code := 1
	if build.Run() == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// TestScripts runs the scripts that need no drive and stand for no public
// report.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		if name := strings.TrimSuffix(filepath.Base(path), ".txt"); !strings.HasPrefix(name, "B") {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				script(t, path)
			})
		}
	}
}

// TestB63UselessOptions: an option without effect is refused.
func TestB63UselessOptions(t *testing.T) { script(t, "testdata/B63-options.txt") }

// script runs a script, which beside the lines of package cli has
//
//	without-nvme       the rest is for machines without NVMe
//	deep FILE N        make a record of N brackets in each other
//	halved OLD NEW     copy a record with half the IOPS
func script(t *testing.T, path string) {
	r := cli.Runner{Binary: binary, Do: map[string]func(s *cli.Script, args []string){
		"without-nvme": func(s *cli.Script, _ []string) {
			if drives, _ := filepath.Glob("/sys/class/nvme/*"); len(drives) > 0 {
				ringtest.Missing(s.T, "a machine without NVMe", fmt.Errorf("here are %v", drives))
			}
		},
		"deep":   deep,
		"halved": halved,
	}}
	r.Run(t, path)
}

func deep(s *cli.Script, args []string) {
	require.Len(s.T, args, 2)
	n, err := strconv.Atoi(args[1])
	require.NoError(s.T, err)
	require.NoError(s.T, os.WriteFile(s.Path(args[0]), []byte(`{"schema":"nvmepass.run/1","config":`+strings.Repeat("[", n)), 0o600))
}

func halved(s *cli.Script, args []string) {
	require.Len(s.T, args, 2)
	b, err := os.ReadFile(s.Path(args[0]))
	require.NoError(s.T, err)
	rounds := regexp.MustCompile(`"iops": ([0-9.e+]+),`)
	require.Regexp(s.T, rounds, string(b))
	b = rounds.ReplaceAllFunc(b, func(key []byte) []byte {
		iops, err := strconv.ParseFloat(string(rounds.FindSubmatch(key)[1]), 64)
		require.NoError(s.T, err)
		return fmt.Appendf(nil, `"iops": %g,`, iops/2)
	})
	require.NoError(s.T, os.WriteFile(s.Path(args[1]), b, 0o600))
}

// commands are the subcommands that the help shows, with those below them.
func commands(t *testing.T, parents ...string) (all [][]string) {
	t.Helper()
	_, list, ok := strings.Cut(output(t, append(parents, "--help")...), "Available Commands:\n")
	if !ok {
		return [][]string{parents}
	}
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		name := strings.Fields(line)[0]
		if name == "completion" || name == "help" {
			continue
		}
		all = append(all, commands(t, append(append([]string{}, parents...), name)...)...)
	}
	return all
}

// output is what a run prints that ends well and says nothing else.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Run(), "%v: %s", args, errs.String())
	require.Empty(t, errs.String(), "%v", args)
	return out.String()
}

// refused is the message of a run that ends with 1 and prints no result.
func refused(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.Error(t, cmd.Run(), "%v", args)
	require.Equal(t, 1, cmd.ProcessState.ExitCode(), "%v: %s", args, errs.String())
	require.Empty(t, out.String(), "%v", args)
	require.Equal(t, 1, strings.Count(errs.String(), "\n"), "%v: %s", args, errs.String())
	return errs.String()
}

var choices = regexp.MustCompile(`-o, --output string +.*`)

// TestEveryCommand: each has help with examples on standard output, and refuses
// an unknown flag, for which it names the one that was meant, and a value that
// is none of a flag's, naming both.
func TestEveryCommand(t *testing.T) {
	all := commands(t)
	require.Greater(t, len(all), 30)
	for _, c := range all {
		t.Run(strings.Join(c, " "), func(t *testing.T) {
			t.Parallel()
			with := func(more ...string) []string { return append(append([]string{}, c...), more...) }
			help := output(t, with("--help")...)
			for _, part := range []string{"Usage:\n  nvmepass " + strings.Join(c, " "), "Examples:\n", "Flags:\n"} {
				require.Contains(t, help, part)
			}
			require.Contains(t, refused(t, with("--elephant")...), "unknown flag: --elephant; see nvmepass "+strings.Join(c, " ")+" --help")
			require.Contains(t, refused(t, with("--hlep")...), "did you mean --help?")
			if choices.MatchString(help) && c[0] != "report" { // whose -o is a file
				says := refused(t, with("/dev/null", "-o", "xml")...)
				require.Regexp(t, `-o|list takes no device|nop /dev/null|diff`, says)
			}
		})
	}
}

// TestEveryExitCode: each code of the README's table ends a run of some script,
// and no script expects another.
func TestEveryExitCode(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(readme), "### Exit codes\n")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n## ")
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+) \|`).FindAllStringSubmatch(table, -1) {
		documented[row[1]] = true
	}
	require.Contains(t, documented, "0")
	scripted := map[string]bool{"0": true} // without a line
	for _, pattern := range []string{"testdata/*.txt", "../testdata/scripts/*.txt"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths, pattern)
		for _, path := range paths {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			for _, line := range regexp.MustCompile(`(?m)^exit (\d+)$`).FindAllStringSubmatch(string(b), -1) {
				scripted[line[1]] = true
			}
		}
	}
	require.Equal(t, documented, scripted)
}
