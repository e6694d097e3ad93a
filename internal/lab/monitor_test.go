package lab

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeQEMU answers each command on its end of a pipe with what reply returns, and says it was asked.
type fakeQEMU struct {
	asked chan string
	conn  net.Conn
}

func newFakeQEMU(t *testing.T, reply func(command string) string) (*monitor, *fakeQEMU) {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() {
		require.NoError(t, ours.Close())
		require.NoError(t, theirs.Close())
	})
	q := &fakeQEMU{asked: make(chan string, 32), conn: theirs}
	go func() {
		_, _ = io.WriteString(theirs, `{"QMP": {"version": {}, "capabilities": []}}`+"\n")
		for lines := bufio.NewScanner(theirs); lines.Scan(); {
			var msg struct {
				Execute   string
				ID        int
				Arguments json.RawMessage
			}
			if json.Unmarshal(lines.Bytes(), &msg) != nil {
				return
			}
			q.asked <- strings.TrimSpace(msg.Execute + " " + string(msg.Arguments))
			answer := `"return": {}`
			if msg.Execute != "qmp_capabilities" {
				answer = reply(msg.Execute)
			}
			if answer == "" {
				_ = theirs.Close()
				return
			}
			id, _ := json.Marshal(msg.ID)
			_, _ = io.WriteString(theirs, `{"timestamp": {"seconds": 1}, "event": "RESUME"}{`+answer+`, "id": `+string(id)+"}\n")
		}
	}()
	m, err := newMonitor(ours)
	require.NoError(t, err)
	require.Equal(t, "qmp_capabilities", <-q.asked)
	return m, q
}

func TestMonitor(t *testing.T) {
	m, q := newFakeQEMU(t, func(command string) string {
		switch command {
		case "bad":
			return `"error": {"class": "GenericError", "desc": "no such thing"}`
		case "last":
			return ""
		}
		return `"return": {}`
	})
	require.NoError(t, m.execute("good", object("b", 1, "a", "x")))
	require.Equal(t, `good {"b":1,"a":"x"}`, <-q.asked)
	require.EqualError(t, m.execute("bad", nil), "QEMU refused bad: no such thing")
	require.Equal(t, "bad", <-q.asked)

	wait := m.await("DEVICE_DELETED", "nvme0")
	other := m.await("DEVICE_DELETED", "nvme1")
	_, err := io.WriteString(q.conn, `{"event": "DEVICE_DELETED", "data": {"device": "nvme0", "path": "/x"}}`+"\n")
	require.NoError(t, err)
	require.NoError(t, wait(time.Minute))
	require.ErrorContains(t, other(10*time.Millisecond), "did not let go of it within 10ms")

	require.ErrorContains(t, m.execute("last", nil), "QEMU's monitor is gone")
	require.ErrorContains(t, other(time.Minute), "QEMU's monitor is gone")
	require.Error(t, m.execute("good", nil))
}

// TestControl: which commands QEMU gets for each action, and which actions it gets none for.
func TestControl(t *testing.T) {
	drives, err := spreadDrives([]Drive{
		{Serial: "plain", NSIDs: []int{3, 17}},
		{Serial: "pluggable", Hotplug: true, Backend: BackendMemory, IOPS: 7},
	})
	require.NoError(t, err)
	var gone func()
	m, q := newFakeQEMU(t, func(command string) string {
		if command == "device_del" && gone != nil {
			gone()
		}
		return `"return": {}`
	})
	gone = func() {
		go func() { _, _ = io.WriteString(q.conn, `{"event": "DEVICE_DELETED", "data": {"device": "nvme1"}}`+"\n") }()
	}
	c := &control{allowed: []Verb{VerbPause, VerbThrottle, VerbUnplug, VerbPlug, VerbResize}, qmp: m, pulled: map[int]bool{}}
	for _, d := range drives {
		c.drives = append(c.drives, attachedDrive{Drive: d, images: []string{"/dev/fd/9"}})
	}
	plugged := `device_add {"driver":"nvme","id":"nvme1","serial":"pluggable","mdts":7,"max_ioqpairs":64,"msix_qsize":65,"bus":"nvme1port","drive":"nvme1n0t","logical_block_size":512,"physical_block_size":512}`
	throttled := func(id string) string {
		return `block_set_io_throttle {"id":"` + id + `","bps":1,"bps_rd":0,"bps_wr":0,"iops":5,"iops_rd":0,"iops_wr":0}`
	}
	for _, s := range []struct {
		action Action
		asks   []string
		says   string
	}{
		{Action{Verb: VerbPause, For: time.Millisecond}, []string{"stop", "cont"}, ""},
		{Action{Verb: VerbPause}, nil, "must be above 0"},
		{Action{Verb: VerbPause, For: time.Hour}, nil, "at most 5m0s"},
		{Action{Verb: "format", Drive: "plain"}, nil, "unknown; the verbs are pause, throttle, unplug, plug, resize"},
		{Action{Verb: VerbThrottle}, nil, "names no drive"},
		{Action{Verb: VerbThrottle, Drive: "x"}, nil, "no drive has this serial number"},
		{Action{Verb: VerbThrottle, Drive: "plain", Bandwidth: -1}, nil, "0 is no limit"},
		{Action{Verb: VerbThrottle, Drive: "plain", NSID: 4}, nil, "no namespace has NSID 4"},
		{Action{Verb: VerbThrottle, Drive: "plain", NSID: 17, Bandwidth: 1, IOPS: 5}, []string{throttled("nvme0n1ns")}, ""},
		{Action{Verb: VerbThrottle, Drive: "plain", Bandwidth: 1, IOPS: 5}, []string{throttled("nvme0n0ns")}, ""},
		{Action{Verb: VerbThrottle, Drive: "pluggable", Bandwidth: 1, IOPS: 5}, []string{throttled("nvme1")}, ""},
		{Action{Verb: VerbUnplug, Drive: "plain"}, nil, "give it the option hotplug"},
		{Action{Verb: VerbPlug, Drive: "pluggable"}, nil, "it is plugged in"},
		{Action{Verb: VerbResize, Drive: "pluggable", Size: 1 << 20}, nil, "pull it first"},
		{Action{Verb: VerbUnplug, Drive: "pluggable"}, []string{`device_del {"id":"nvme1"}`}, ""},
		{Action{Verb: VerbUnplug, Drive: "pluggable"}, nil, "it is out already"},
		{Action{Verb: VerbThrottle, Drive: "pluggable"}, nil, "it is not plugged in"},
		{Action{Verb: VerbResize, Drive: "pluggable", Size: 1<<20 + 1}, nil, "multiple of 512"},
		{Action{Verb: VerbResize, Drive: "pluggable", Size: 1 << 20}, []string{`block_resize {"node-name":"nvme1n0","size":1048576}`}, ""},
		{Action{Verb: VerbPlug, Drive: "pluggable"}, []string{plugged}, ""},
		{Action{Verb: VerbPlug, Drive: "pluggable"}, nil, "it is plugged in"},
	} {
		err := c.do(s.action)
		for _, want := range s.asks {
			require.Equal(t, want, <-q.asked)
		}
		require.Empty(t, q.asked, "%+v", s.action)
		if s.says == "" {
			require.NoError(t, err, "%+v", s.action)
			continue
		}
		var known *ActionError
		require.ErrorAs(t, err, &known)
		require.ErrorContains(t, err, s.says)
	}
	c.allowed = []Verb{VerbPause}
	require.ErrorContains(t, c.do(Action{Verb: VerbUnplug, Drive: "pluggable"}), "not allowed in this run; Config.Actions has pause")
	require.JSONEq(t, `{}`, string(c.answer([]byte(`{"verb":"pause","for":1000}`))))
	require.Contains(t, string(c.answer([]byte(`{"verb":`))), "unexpected end")
	require.Contains(t, string(c.answer([]byte(`{"verb":"unplug","drive":"x"}`))), "not allowed")
}

// TestGuestControl: requests go to the host as they are, and each gets its own answer.
func TestGuestControl(t *testing.T) {
	require.ErrorContains(t, ask(t.TempDir()+"/none", Action{Verb: VerbPause, For: 1}), "Config.Actions opens the way")
	require.ErrorContains(t, ask("", Action{Verb: VerbPause}), "must be above 0")
	host, tty, err := os.Pipe()
	require.NoError(t, err)
	defer host.Close()
	defer tty.Close()
	g := &guestControl{link: newGuestLink(tty)}
	listener, err := net.Listen("unix", t.TempDir()+"/control")
	require.NoError(t, err)
	defer listener.Close()
	go g.serve(listener)
	done := make(chan error, 3)
	verbs := []Verb{VerbUnplug, VerbPlug, VerbUnplug}
	for i, v := range verbs {
		go func() { done <- ask(listener.Addr().String(), Action{Verb: v, Drive: strings.Repeat("x", i+1)}) }()
	}
	var buf []byte
	for range verbs {
		kind, p, _, err := readFrame(host, &buf)
		require.NoError(t, err)
		require.Equal(t, frameAsk, kind)
		var a Action
		require.NoError(t, json.Unmarshal(p[4:], &a))
		answer := `{}`
		if a.Verb == VerbPlug {
			answer = `{"failed":{"verb":"plug","drive":"` + a.Drive + `","problem":"no"}}`
		}
		g.answered(append(append([]byte(nil), p[:4]...), answer...))
	}
	failed := 0
	for range verbs {
		if err := <-done; err != nil {
			require.Equal(t, &ActionError{VerbPlug, "xx", "no"}, err)
			failed++
		}
	}
	require.Equal(t, 1, failed)
	g.answered(nil) // out of step: nobody waits
	g.answered(uint32s(99))
	require.ErrorContains(t, ask(listener.Addr().String(), Action{Verb: VerbUnplug, Drive: strings.Repeat("x", 300)}), "at most 256 bytes")
}
