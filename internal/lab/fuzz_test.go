package lab

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzUnpackOut: whatever a guest sends as its files, nothing outside the folder
// of the host changes, and nothing in it is more than a file or a folder.
func FuzzUnpackOut(f *testing.F) {
	entry := func(name, link string, kind byte, mode int64) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		require.NoError(f, w.WriteHeader(&tar.Header{Name: name, Linkname: link, Typeflag: kind, Mode: mode, Size: 0}))
		require.NoError(f, w.Flush())
		return b.Bytes()
	}
	for _, seed := range [][]byte{
		entry("a/b", "", tar.TypeReg, 0o644),
		entry("../secret", "", tar.TypeReg, 0o644),
		entry("/etc/passwd", "", tar.TypeReg, 0o4755),
		append(entry("link", "..", tar.TypeSymlink, 0o777), entry("link/secret", "", tar.TypeReg, 0o600)...),
		append(entry("d", "", tar.TypeReg, 0o600), entry("d/e", "", tar.TypeReg, 0o600)...),
		entry("a/../../secret", "", tar.TypeDir, 0o755),
		entry("hard", "../secret", tar.TypeLink, 0o644),
		entry("test/x", "", tar.TypeReg, 0o644),
		{0x1f, 0x8b},
	} {
		f.Add(seed, true)
	}
	dir := f.TempDir()
	secret := filepath.Join(dir, "secret")
	f.Fuzz(func(t *testing.T, stream []byte, elsewhere bool) {
		require.NoError(t, os.WriteFile(secret, []byte("kept"), 0o600))
		out, host := filepath.Join(dir, "out"), filepath.Join(dir, "host")
		var collect []collected
		if elsewhere {
			collect = []collected{{guest: guestOut + "/a", host: host, dir: true}}
		}
		if err := unpackOut(bytes.NewReader(stream), out, collect); err != nil {
			require.ErrorContains(t, err, "from the guest")
		}
		kept, err := os.ReadFile(secret)
		require.NoError(t, err)
		require.Equal(t, "kept", string(kept))
		top, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range top {
			require.Contains(t, []string{"secret", "out", "host"}, e.Name())
		}
		require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err == nil {
				require.True(t, e.IsDir() || e.Type().IsRegular(), "%s is a %v", path, e.Type())
				info, err := e.Info()
				require.NoError(t, err)
				require.Zero(t, info.Mode()&(os.ModeSetuid|os.ModeSetgid|os.ModeSticky), path)
			}
			return err
		}))
		require.NoError(t, os.RemoveAll(out))
		require.NoError(t, os.RemoveAll(host))
	})
}

// FuzzModulesDep: the files that a module is said to be and to need are words of
// its line, and a name is one that the kernel would use.
func FuzzModulesDep(f *testing.F) {
	f.Add("kernel/drivers/nvme/host/nvme-core.ko.xz: kernel/a.ko kernel/b-c.ko\n", "nvme_core.multipath=N quiet nvme.poll_queues=2", "nvme")
	f.Add(":\n::\nno colon\nx.ko:", "..", "")
	f.Add("../../etc/passwd: /x\n", "nvme.", "nvme")
	f.Fuzz(func(t *testing.T, text, cmdline, module string) {
		for name, m := range parseModulesDep(text) {
			require.NotContains(t, name, "-")
			require.NotContains(t, name, "/")
			require.Contains(t, text, m.file+":")
			for _, n := range m.needs {
				require.Contains(t, text, n)
			}
		}
		for p := range strings.FieldsSeq(moduleParams(cmdline, module)) {
			require.Contains(t, strings.ReplaceAll(cmdline, "-", "_"), strings.ReplaceAll("."+p, "-", "_"))
		}
	})
}

// FuzzMonitor: whatever QEMU sends, what waits for its answers ends.
func FuzzMonitor(f *testing.F) {
	f.Add(`{"QMP": {"version": {}}}` + "\n" + `{"return": {}, "id": 1}` + "\n" + `{"event": "DEVICE_DELETED", "data": {"device": "nvme1"}}` + `{"return": {}, "id": 2}`)
	f.Add(`{"error": {"class": "GenericError", "desc": "no"}, "id": 1}`)
	f.Add(`{"id": 1}{"id": 1}{"id": 2}{"id": -9223372036854775808}`)
	f.Add(`{"event": "", "data": null}` + `[]`)
	f.Add(strings.Repeat(`{"data":`, 100))
	f.Fuzz(func(t *testing.T, stream string) {
		m, err := newMonitor(struct {
			io.Reader
			io.Writer
		}{strings.NewReader(stream), io.Discard})
		gone := m.await("DEVICE_DELETED", "nvme1")
		if err == nil {
			err = m.execute("stop", nil)
		}
		if err != nil {
			require.Regexp(t, "^QEMU('s monitor is gone: | refused (qmp_capabilities|stop): )", err.Error())
		}
		if err := gone(time.Minute); err != nil {
			require.ErrorContains(t, err, "monitor is gone")
		}
	})
}

// obedientQEMU answers each command with success, in the order that they come, and
// an unplugged device is gone at once.
type obedientQEMU struct {
	commands []string
	answers  *io.PipeWriter
}

func (q *obedientQEMU) Write(p []byte) (int, error) {
	var msg struct {
		Execute   string
		ID        int
		Arguments struct{ ID string }
	}
	if err := json.Unmarshal(p, &msg); err != nil {
		return 0, err
	}
	q.commands = append(q.commands, msg.Execute)
	go func() {
		_, _ = fmt.Fprintf(q.answers, `{"return": {}, "id": %d}{"event": "DEVICE_DELETED", "data": {"device": %q}}`, msg.ID, msg.Arguments.ID)
	}()
	return len(p), nil
}

// FuzzControl: whatever a guest asks for, it gets one answer, and QEMU is asked for
// nothing but what the run allows.
func FuzzControl(f *testing.F) {
	for _, seed := range []string{
		`{"verb":"throttle","drive":"plain","nsid":17,"iops":5}`, `{"verb":"throttle","drive":"pluggable","bandwidth":1}`, `{"verb":"unplug","drive":"pluggable"}`,
		`{"verb":"resize","drive":"pluggable","size":1048576}`, `{"verb":"plug","drive":"pluggable"}`, `{"verb":"pause","for":1000}`, `{"verb":`, `[]`, `null`,
		`{"verb":"throttle","drive":"\u0000","iops":9223372036854775807}`, `{"verb":"resize","drive":"plain","size":-1}`,
	} {
		f.Add(seed, seed)
	}
	drives, err := spreadDrives([]Drive{{Serial: "plain", NSIDs: []int{3, 17}}, {Serial: "pluggable", Hotplug: true, Backend: BackendMemory}})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, first, second string) {
		r, w := io.Pipe()
		q := &obedientQEMU{answers: w}
		m, err := newMonitor(struct {
			io.Reader
			io.Writer
		}{r, q})
		require.NoError(t, err)
		c := &control{allowed: []Verb{VerbThrottle, VerbUnplug, VerbPlug, VerbResize}, qmp: m, pulled: map[int]bool{}}
		for _, d := range drives {
			c.drives = append(c.drives, attachedDrive{Drive: d, images: []string{"/dev/fd/9"}})
		}
		for _, request := range []string{first, second} {
			before := len(q.commands)
			var got controlAnswer
			require.NoError(t, json.Unmarshal(c.answer([]byte(request)), &got))
			if got.Failed != nil {
				require.NotEmpty(t, got.Failed.Problem)
				require.Len(t, q.commands, before, "%s", request)
			} else {
				require.Len(t, q.commands, before+1, "%s", request)
			}
		}
		for _, command := range q.commands[1:] {
			require.Contains(t, []string{"block_set_io_throttle", "device_del", "device_add", "block_resize"}, command)
		}
		require.NoError(t, r.Close())
		require.NoError(t, w.Close())
	})
}
