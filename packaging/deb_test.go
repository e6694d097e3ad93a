package packaging_test

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
)

const (
	version = "v1.2.3-4-gabcdef"
	commit  = "0123456789abcdef0123456789abcdef01234567"
	epoch   = "1700000000" // 2023-11-14 22:13:20 UTC
)

// output runs a program with what names the build, and returns what it wrote.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "VERSION="+version, "COMMIT="+commit, "SOURCE_DATE_EPOCH="+epoch)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, "%s %q: %s%s", name, args, out, errs.String())
	return string(out)
}

func needDpkg(t *testing.T) {
	t.Helper()
	for _, name := range []string{"dpkg", "dpkg-deb"} {
		if _, err := exec.LookPath(name); err != nil {
			ringtest.Missing(t, name, err)
		}
	}
}

// build stages and makes the package, twice from one tree, and returns both paths.
func build(t *testing.T) (staged, deb string) {
	t.Helper()
	staged = filepath.Join(t.TempDir(), "staged")
	output(t, "./stage.sh", runtime.GOARCH, staged)
	var made [2][]byte
	for i := range made {
		dir := t.TempDir()
		output(t, "./deb.sh", staged, runtime.GOARCH, dir)
		deb = filepath.Join(dir, "nvmepass_1.2.3+4+gabcdef-1_"+runtime.GOARCH+".deb")
		data, err := os.ReadFile(deb)
		require.NoError(t, err)
		made[i] = data
	}
	require.True(t, string(made[0]) == string(made[1]), "the same tree gave two different packages")
	return staged, deb
}

func TestDeb(t *testing.T) {
	needDpkg(t)
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		ringtest.Missing(t, "an architecture that packages are made for (amd64, arm64)", fmt.Errorf("this is %s", runtime.GOARCH))
	}
	staged, deb := build(t)

	t.Run("files", func(t *testing.T) {
		want, err := os.ReadFile(filepath.Join("testdata", "deb-files.txt"))
		require.NoError(t, err)
		files := strings.Split(strings.TrimSpace(string(want)), "\n")
		pages, err := os.ReadDir(filepath.Join(staged, "share", "man", "man1"))
		require.NoError(t, err)
		require.Greater(t, len(pages), 30)
		for _, page := range pages {
			files = append(files, "-rw-r--r-- root/root ./usr/share/man/man1/"+page.Name()+".gz")
		}
		var got []string
		for line := range strings.SplitSeq(strings.TrimSpace(output(t, "dpkg-deb", "--contents", deb)), "\n") {
			f := strings.Fields(line) // mode, owner, size, day, time, path
			require.Len(t, f, 6, line)
			if strings.HasSuffix(f[5], "/") {
				require.Equal(t, "drwxr-xr-x root/root", f[0]+" "+f[1], line)
				continue
			}
			got = append(got, strings.Join([]string{f[0], f[1], f[5]}, " "))
		}
		require.ElementsMatch(t, files, got)
	})

	t.Run("control", func(t *testing.T) {
		field := func(name string) string { return strings.TrimSpace(output(t, "dpkg-deb", "--field", deb, name)) }
		require.Equal(t, "nvmepass", field("Package"))
		require.Equal(t, "1.2.3+4+gabcdef-1", field("Version"))
		require.Equal(t, runtime.GOARCH, field("Architecture"))
		require.Regexp(t, `^\d{4,5}$`, field("Installed-Size"))
		require.Regexp(t, `^.+ <\S+@\S+>$`, field("Maintainer"))
		require.Empty(t, field("Depends"))
		require.NotContains(t, output(t, "dpkg-deb", "--info", deb, "control"), "@VERSION@")
	})

	t.Run("content", func(t *testing.T) {
		root := t.TempDir()
		output(t, "dpkg-deb", "--raw-extract", deb, root)
		output(t, "sh", "-c", `cd "$1" && md5sum --quiet -c DEBIAN/md5sums`, "sh", root)

		binary := filepath.Join(root, "usr", "bin", "nvmepass")
		require.Contains(t, output(t, binary, "--version"), "nvmepass version "+version+"\ncommit: "+commit+"\n")
		require.Contains(t, output(t, binary, "--version"), "\npgo: default.pgo\n")
		f, err := elf.Open(binary)
		require.NoError(t, err)
		defer f.Close()
		for _, p := range f.Progs {
			require.NotEqual(t, elf.PT_INTERP, p.Type, "the program needs a dynamic linker")
		}

		page := output(t, "gzip", "-dc", filepath.Join(root, "usr/share/man/man1/nvmepass-io-read.1.gz"))
		require.Contains(t, page, `.TH NVMEPASS\-IO\-READ 1 "2023\-11\-14" "nvmepass v1.2.3`)
		copyright, err := os.ReadFile(filepath.Join(root, "usr/share/doc/nvmepass/copyright"))
		require.NoError(t, err)
		for _, linked := range []string{"Go's standard library", "github.com/spf13/pflag v", "golang.org/x/sys v", "/usr/share/common-licenses/Apache-2.0"} {
			require.Contains(t, string(copyright), linked)
		}
		require.NotContains(t, string(copyright), "testify", "it is not linked in")
		changelog := output(t, "gzip", "-dc", filepath.Join(root, "usr/share/doc/nvmepass/changelog.Debian.gz"))
		require.Contains(t, changelog, "nvmepass (1.2.3+4+gabcdef-1) unstable")
		require.Contains(t, changelog, "  Tue, 14 Nov 2023 22:13:20 +0000\n")
	})
}

// TestDebVersion: names of git describe, in the order in which they come to be,
// keep it as Debian versions.
func TestDebVersion(t *testing.T) {
	rising := []struct{ described, want string }{
		{"5ae6873", "0~git20231114.221320.5ae6873-1"},
		{"5ae6873-dirty", "0~git20231114.221320.5ae6873+dirty-1"},
		{"v0.9.0-rc1", "0.9.0~rc1-1"},
		{"v0.9.0-rc1-3-g12ab", "0.9.0~rc1+3+g12ab-1"},
		{"v0.9.0", "0.9.0-1"},
		{"v0.9.0-dirty", "0.9.0+dirty-1"},
		{"0.9.1", "0.9.1-1"},
		{"v1.2.3-4-gabcdef", "1.2.3+4+gabcdef-1"},
		{"v1.2.3-10-gabcdef-dirty", "1.2.3+10+gabcdef+dirty-1"},
		{"v1.10.0", "1.10.0-1"},
	}
	last := ""
	for _, tt := range rising {
		got := strings.TrimSpace(output(t, "./debversion.sh", tt.described))
		require.Equal(t, tt.want, got)
		if _, err := exec.LookPath("dpkg"); err != nil {
			ringtest.Missing(t, "dpkg", err)
		}
		if last != "" {
			output(t, "dpkg", "--compare-versions", last, "lt", got)
		}
		last = got
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		script, says string
		args         []string
		env          []string
	}{
		{"./dist.sh", "dist.sh: rpm: unknown format: use tar or deb", []string{"rpm"}, []string{"VERSION=v1", "COMMIT=1", "SOURCE_DATE_EPOCH=1"}},
		{"./stage.sh", "VERSION", []string{"amd64", t.TempDir()}, nil},
		{"./deb.sh", "VERSION", []string{t.TempDir(), "amd64", t.TempDir()}, nil},
		{"./deb.sh", "no dpkg-deb here: install the package dpkg", []string{t.TempDir(), "amd64", t.TempDir()}, []string{"VERSION=v1", "SOURCE_DATE_EPOCH=1"}},
	} {
		cmd := exec.Command(tt.script, tt.args...)
		cmd.Env = append([]string{"PATH=" + bare(t)}, tt.env...)
		out, err := cmd.CombinedOutput()
		require.Error(t, err, "%s %q", tt.script, tt.args)
		require.Contains(t, string(out), tt.says)
	}
}

// bare is a PATH with no more than scripts need to start.
func bare(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"dirname", "mktemp", "mkdir", "rm"} {
		path, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(dir, name)))
	}
	return dir
}
