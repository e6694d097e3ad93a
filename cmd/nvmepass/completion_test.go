package main

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/internal/sysfs/sysfstest"
)

// completed are the words that the shell would offer after args.
func completed(t *testing.T, args ...string) []string {
	t.Helper()
	code, out, errs := command(t, append([]string{"__completeNoDesc"}, args...)...)
	require.Zero(t, code, errs)
	return strings.Fields(out)
}

// TestCompletionOffersEveryCommand and every long flag of it, and nothing hidden.
func TestCompletionOffersEveryCommand(t *testing.T) {
	for _, c := range visible(testRoot(t)) {
		path := strings.Fields(c.CommandPath())[1:]
		if len(path) > 0 {
			above := path[:len(path)-1]
			require.Contains(t, completed(t, append(slices.Clip(above), "")...), c.Name())
		}
		offered := completed(t, append(slices.Clip(path), "--")...)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			require.Equal(t, !f.Hidden, slices.Contains(offered, "--"+f.Name), "%s --%s", c.CommandPath(), f.Name)
		})
	}
	require.NotContains(t, completed(t, ""), "man")
}

// TestCompletionScripts: each shell's script asks this program, and the shell, if
// it is here, can read it.
func TestCompletionScripts(t *testing.T) {
	for shell, check := range map[string][]string{"bash": {"bash", "-n"}, "zsh": {"zsh", "-n"}, "fish": {"fish", "--no-execute"}} {
		t.Run(shell, func(t *testing.T) {
			code, out, errs := command(t, "completion", shell)
			require.Zero(t, code, errs)
			require.Contains(t, out, "__complete")
			if _, err := exec.LookPath(shell); err != nil && shell == "bash" {
				ringtest.Missing(t, shell, err)
			} else if err != nil {
				return
			}
			cmd := exec.Command(check[0], check[1:]...)
			cmd.Stdin = strings.NewReader(out)
			said, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", said)
		})
	}
}

// TestCompletionOffersValues: devices for devices, words for words, files for
// files, and nothing where no list can say it. The line below the words is the
// directive: 4 is no files, 2 no space, 16 folders.
func TestCompletionOffersValues(t *testing.T) {
	tree := sysfstest.New(t)
	ctrl := tree.Controller("S1")
	tree.Generic(ctrl, "ng0n1")
	tree.Disk(ctrl, "nvme0n1", 1, 1<<20)
	system := sysfs.System
	sysfs.System = tree.FS
	defer func() { sysfs.System = system }()
	for _, tt := range []struct {
		line string
		want string
	}{
		{"compare ", "/dev/ng0n1 /dev/nvme0n1 :4"},
		{"compare /dev/ng0n1 ", "/dev/nvme0n1 :4"},
		{"run ", "/dev/ng0n1 /dev/nvme0n1 :4"},
		{"sweep ", "/dev/ng0n1 /dev/nvme0n1 :4"},
		{"sweep /dev/ng0n1 ", ":4"},
		{"verify ", "/dev/ng0n1 /dev/nvme0n1 :4"},
		{"info /dev/nvme", "/dev/nvme0 /dev/nvme0n1 :4"},
		{"smart ", "/dev/nvme0 /dev/ng0n1 /dev/nvme0n1 :4"},
		{"io read ", "/dev/ng0n1 /dev/nvme0n1 :4"},
		{"io read /dev/ng0n1 ", ":4"},
		{"admin identify ", "/dev/nvme0 /dev/ng0n1 /dev/nvme0n1 :4"},
		{"list ", ":4"},
		{"nop ", ":4"},
		{"diff ", ":0"},
		{"diff old.json ", ":0"},
		{"report ", ":0"},
		{"lab -- ", ":0"},

		{"run --path ", "block passthru passthru-poll block-poll :4"},
		{"run --path=pass", "passthru passthru-poll :4"},
		{"verify --path io", "ioctl :4"},
		{"compare --paths ", "block passthru passthru-poll block-poll :6"},
		{"compare --paths block,pass", "block,passthru block,passthru-poll :6"},
		{"sweep --paths sync", "sync-poll sync :6"},
		{"compare --depths 1_1,1", "1_1,16_4 1_1,128_32 :6"},
		{"run --rw rand", "randread randwrite randrw randtrim randzeroes :4"},
		{"run --readwrite randr", "randread randrw :4"}, // fio's other name of it
		{"compare --rw ", "randread read :4"},
		{"nop --op ", "nop uring-cmd :4"},
		{"run -o ", "text json csv bench fio :4"},
		{"list -o ", "text json csv :4"},
		{"diff -o ", "text json csv :4"},
		{"io read -o ", "text json binary :4"},
		{"io flush -o ", "text json :4"},
		{"admin get-log --log-id s", "smart supported :4"},
		{"io zone-report --state imp", "implicitly-open :4"},
		{"doctor --color ", "auto always never :4"},
		{"run --progress ", "auto line plain none :4"},
		{"run --batch-rule ", "fio tio :4"},
		{"verify --do ", "read write both :4"},
		{"compare --accel ", "auto kvm tcg :4"},
		{"compare --baseline ", "series-2022 :0"},
		{"run --baseline ", "series-2021 series-2021b :4"},
		{"diff --fail-on slower:3%,no", "slower:3%,noisy :6"},
		{"run --save ", ":0"},
		{"sweep --html ", ":0"},
		{"report a.json -o ", ":0"},
		{"report a.json --charts ", ":16"},
		{"lab --out ", ":16"},
		{"run --qd ", ":4"},
		{"report a.json --title ", ":4"},
		{"run --runtime ", ":4"},
	} {
		args := strings.Split(tt.line, " ")
		typed := args[len(args)-1]
		_, value, isFlag := strings.Cut(typed, "=")
		if isFlag {
			typed = value
		}
		words := slices.DeleteFunc(completed(t, args...), func(w string) bool { // as the shell does
			return !strings.HasPrefix(w, typed) && !strings.HasPrefix(w, ":")
		})
		require.Equal(t, tt.want, strings.Join(words, " "), tt.line)
	}
}

// TestOfferedValuesAreTaken: no word is offered that the command refuses, as it does
// with another.
func TestOfferedValuesAreTaken(t *testing.T) {
	for name, args := range map[string]string{
		"compare": os.DevNull, "run": os.DevNull + " --rate-iops 10", "sweep": os.DevNull, "verify": os.DevNull, "info": os.DevNull, "smart": os.DevNull, "diff": "no.json no.json",
		"io read": "--dry-run --namespace-id 1 --layout lba=512", "io zone-report": "--dry-run --namespace-id 1 --layout lba=512",
		"admin identify": "--dry-run", "admin get-log": "--dry-run", "admin get-feature": "--dry-run",
	} {
		cmd, _, err := testRoot(t).Find(strings.Fields(name))
		require.NoError(t, err)
		refused := func(flag, word string) bool {
			_, _, errs := command(t, append(strings.Fields(name+" "+args), "--"+flag+"="+word)...)
			return !strings.Contains(errs, "no effect") && (strings.HasPrefix(errs, "nvmepass: --"+flag+" "+word) || strings.Contains(errs, strconv.Quote(word)))
		}
		tried := 0
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			words := completed(t, append(strings.Fields(name), "--"+f.Name, "")...)
			if f.Hidden || f.NoOptDefVal != "" || len(words) == 1 || f.Name == "accel" || f.Name == "baseline" {
				return
			}
			tried++
			require.True(t, refused(f.Name, "nonsense"), "%s --%s", name, f.Name)
			for _, w := range words[:len(words)-1] {
				require.False(t, refused(f.Name, w), "%s --%s %s", name, f.Name, w)
			}
		})
		require.Positive(t, tried, name)
	}
}

// TestBashCompletes: bash, with the script that is installed, comes to the same words.
func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		ringtest.Missing(t, "bash", err)
	}
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", dir+"/nvmepass", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	script := `
COMP_LINE=$1; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9; COMP_KEY=9
read -ra COMP_WORDS <<<"$COMP_LINE"; [[ $COMP_LINE == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_get_comp_words_by_ref() { cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=("${COMP_WORDS[@]}") cword=$COMP_CWORD; }
compopt() { :; }
source <(nvmepass completion bash)
__start_nvmepass
printf '%s\n' "${COMPREPLY[@]}"`
	for line, want := range map[string]string{
		"nvmepass run --path pa":       "passthru passthru-poll",
		"nvmepass nop -o ":             "text json csv bench fio",
		"nvmepass com":                 "compare completion",
		"nvmepass compare --paths blo": "block block-poll",
	} {
		cmd := exec.CommandContext(t.Context(), bash, "-c", script, "bash", line)
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		var words []string
		for l := range strings.Lines(string(out)) {
			word, _, _ := strings.Cut(l, "(")
			words = append(words, strings.TrimSpace(word))
		}
		require.Equal(t, want, strings.Join(words, " "), line)
	}
}
