package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// TestMain lets the test binary be the processes that a soak starts.
func TestMain(m *testing.M) {
	if handled, err := helper(os.Args[1:]); handled {
		os.Exit(complain(os.Stderr, err))
	}
	os.Exit(m.Run())
}

// TestStopper: this very process is stopped, and goes on.
func TestStopper(t *testing.T) {
	s, err := startStopper()
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, s.stop(20*time.Millisecond))
	}
	require.NoError(t, s.close())
	require.Error(t, s.stop(time.Millisecond))
	require.ErrorContains(t, stopperMain(strings.NewReader("soon\n"), io.Discard), "soon")
}

// TestProcessFaults leave the process as it was.
func TestProcessFaults(t *testing.T) {
	e, _, _ := newTestEngine(t)
	var err error
	e.stopper, err = startStopper()
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(5, 5))
	for _, f := range processFaults {
		require.False(t, f.machine, f.name)
		require.NoError(t, f.run(e, rng), f.name)
	}
	require.NotZero(t, e.tally.faults.snapshot()["signals sent"])
	for _, f := range driverFaults {
		require.True(t, f.machine, f.name)
	}
	require.NoError(t, e.stopper.close())
}

func newTestEngine(t *testing.T) (*engine, *target, *strings.Builder) {
	t.Helper()
	var out strings.Builder
	o, err := parseOptions([]string{"-seed", "9"}, io.Discard)
	require.NoError(t, err)
	e := newEngine(o, &out)
	tgt := &target{
		name: "test", drive: &drive{serial: "test"}, layout: nvme.Layout{LBASize: 512}, host: nvme.Layout{LBASize: 512}, bare: true,
		blocks: 64, most: 16, model: newModel(64), seed: 9, readErrors: blockRange{40, 42}, writeErrors: blockRange{50, 51},
	}
	e.targets = []*target{tgt}
	return e, tgt, &out
}

// TestExplain: what is an injected fault's doing, and what is not.
func TestExplain(t *testing.T) {
	_, target, _ := newTestEngine(t)
	readError := nvme.NewStatusError(&nvme.Command{Opcode: nvme.OpRead}, nvme.SetNVM, nvme.Status(nvme.UnrecoveredReadError), 0)
	began := time.Now()
	read := func(slba uint64) *op { return &op{kind: opRead, slba: slba, n: 4, began: began} }
	write := func(slba uint64) *op { return &op{kind: opWrite, slba: slba, n: 4, began: began} }
	resetting := &passthru.KernelError{Op: "read", Errno: syscall.EINTR}
	for name, c := range map[string]struct {
		err     error
		op      *op
		closing bool
		want    outcome
	}{
		"nothing":                               {nil, read(0), false, succeeded},
		"error of a bad block":                  {readError, read(38), false, failed},
		"the same by the block layer":           {syscall.ENODATA, read(38), false, failed},
		"error of a good block":                 {readError, read(0), false, odd},
		"error of a block that is bad to read":  {syscall.EIO, write(40), false, odd},
		"error of a block that is bad to write": {syscall.EIO, write(48), false, failed},
		"context":                               {fmt.Errorf("x: %w", context.DeadlineExceeded), read(0), false, cancelled},
		"closed by us":                          {os.ErrClosed, read(0), true, cancelled},
		"closed by nobody":                      {os.ErrClosed, read(0), false, odd},
		"cancelled without a reset":             {resetting, read(0), false, odd},
		"anything else":                         {syscall.EINVAL, read(0), true, odd},
	} {
		require.Equal(t, c.want, target.explain(c.err, c.op, byQueue, c.closing), name)
	}
	require.Equal(t, failed, target.explain(syscall.ENODATA, read(0), byBlock, false), "the block layer may have merged it with one of a bad block")
	require.Equal(t, odd, target.explain(syscall.EIO, read(0), byQueue, false))
	target.drive.resets.begin()
	require.Equal(t, cancelled, target.explain(resetting, read(0), byQueue, false))
	target.drive.resets.end()
	require.Equal(t, cancelled, target.explain(resetting, read(0), byQueue, false), "it ended after the operation began")
	later := read(0)
	later.began = time.Now().Add(time.Second)
	require.Equal(t, odd, target.explain(resetting, later, byQueue, false))
}

// TestSessionAccounts: operations by a session are counted, judged and explained.
func TestSessionAccounts(t *testing.T) {
	e, target, out := newTestEngine(t)
	s := e.newSession(target, byQueue, rand.New(rand.NewPCG(1, 1)))
	data := make([]byte, 4*512)
	do := func(o *op, err error) {
		require.NoError(t, s.prepare(s.whole, o, data[:int(o.n)*512], nil))
		s.finish(s.whole, o, done{err: err, data: data[:int(o.n)*512]})
	}
	p := &e.tally.paths[byQueue]
	do(&op{kind: opWrite, slba: 0, n: 4}, nil)
	kept := append([]byte{}, data...)
	reading := func(o *op, found []byte) {
		require.NoError(t, s.prepare(s.whole, o, data[:int(o.n)*512], nil))
		copy(data, found)
		s.finish(s.whole, o, done{data: data[:int(o.n)*512]})
	}
	reading(&op{kind: opRead, slba: 0, n: 4}, kept)
	require.EqualValues(t, 4, p.verified.Load())
	require.Empty(t, out.String())

	// A compare with what is there, one with what is not, and a drive that lies.
	compare := &op{kind: opCompare, slba: 0, n: 4}
	do(compare, nil)
	for compare.wrong {
		require.Contains(t, out.String(), "MISMATCH")
		out.Reset()
		compare = &op{kind: opCompare, slba: 0, n: 4}
		do(compare, nil)
	}
	require.Empty(t, out.String())
	differ := nvme.NewStatusError(&nvme.Command{Opcode: nvme.OpCompare}, nvme.SetNVM, nvme.Status(nvme.CompareFailure), 0)
	compare = &op{kind: opCompare, slba: 0, n: 4}
	for do(compare, differ); compare.wrong; do(compare, differ) {
		require.Empty(t, out.String())
		compare = &op{kind: opCompare, slba: 0, n: 4}
	}
	require.Contains(t, out.String(), "a compare failure")
	before, _ := e.tally.bad()

	// What a drive with bad blocks must not do.
	reading(&op{kind: opRead, slba: 38, n: 4}, make([]byte, 4*512))
	do(&op{kind: opWrite, slba: 48, n: 4}, nil)
	require.Contains(t, out.String(), "the read succeeded")
	require.Contains(t, out.String(), "the write was acknowledged")
	mismatches, failures := e.tally.bad()
	require.EqualValues(t, before+2, mismatches)
	require.Zero(t, failures)

	// A write that nobody waited for may land until it is settled.
	do(&op{kind: opWrite, slba: 8, n: 1}, context.Canceled)
	require.Len(t, s.abandoned, 1)
	require.Nil(t, target.model.sure(8))
	s.settle()
	require.Empty(t, s.abandoned)

	do(&op{kind: opWrite, slba: 12, n: 1}, errors.New("out of the blue"))
	require.Contains(t, out.String(), "UNEXPLAINED")
	r := e.result()
	require.Empty(t, r.account())
	require.EqualValues(t, 1, r.Unexplained)
	require.Equal(t, exitMismatch, r.code())
	r.Paths[0].OK++
	require.Len(t, r.account(), 1)
}

// TestFragile: where a failure may take the kernel down, nothing is sent that fails.
func TestFragile(t *testing.T) {
	e, target, _ := newTestEngine(t)
	for _, old := range []bool{false, true} {
		e.pollsAnything = !old
		for p := byQueue; p < byChild; p++ {
			s := e.newSession(target, p, rand.New(rand.NewPCG(2, 2)))
			require.Equal(t, old && (p == byQueuePoll || p == byDevicePoll), s.fragile, p.String())
			bad := 0
			for range 500 {
				o := s.pick(s.kinds(opRead, opWrite, opCompare), 16)
				if target.readErrors.overlaps(o.slba, o.n) || target.writeErrors.overlaps(o.slba, o.n) || s.fragile && o.kind == opCompare {
					bad++
				}
			}
			require.Equal(t, s.fragile, bad == 0)
		}
	}
}

// TestWatch: what does not end is named.
func TestWatch(t *testing.T) {
	w := newWatch(time.Minute)
	g := w.begin("read of %d blocks", 7)
	w.end(w.begin("write"))
	require.Empty(t, w.overdue(time.Now()))
	require.Contains(t, w.overdue(time.Now().Add(2*time.Minute)), "read of 7 blocks has not ended after 120s; the limit is 1m0s")
	w.limit = -1
	hung := make(chan string, 1)
	w.run(context.Background(), func(what string) { hung <- what })
	require.Contains(t, <-hung, "read of 7 blocks")
	w.end(g)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w.run(ctx, func(string) { t.Error("nothing is under way") })
}

// TestOptions: what cannot be is refused with a reason.
func TestOptions(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-for 0s", "more than 0"},
		{"-blocks ten", "whole number"},
		{"-blocks 0", "whole number"},
		{"-span 1", "1m to 4g"},
		{"-hang 1s", "seconds"},
		{"-allow-write", "-device"},
		{"x.json", "-report FILE"},
		{"-sabotage luck", "no such"},
		{"-without luck", "no such fault; there are CPU taken offline and back, collections in a row, controller reset,"},
		{"-colour", "not defined"},
	} {
		_, err := parseOptions(strings.Fields(c.args), io.Discard)
		require.ErrorContains(t, err, c.want, c.args)
	}
	o, err := parseOptions(strings.Fields("-blocks 10M -kernel all -span 8m -device /dev/ng0n1,/dev/ng1n1"), io.Discard)
	require.NoError(t, err)
	require.EqualValues(t, 10e6, o.blocks)
	require.Equal(t, []string{"6.1", "6.12", "newest"}, o.kernels)
	require.Len(t, o.devices, 2)
	require.EqualValues(t, 8<<20, o.span)
	require.NotZero(t, o.seed)
	var help strings.Builder
	require.Equal(t, exitOK, run(context.Background(), []string{"-h"}, io.Discard, &help))
	require.Contains(t, help.String(), "-force-overwrite")
	require.NotContains(t, help.String(), "sabotage")
	again, err := parseOptions(o.guestArgs(), io.Discard)
	require.NoError(t, err)
	require.Equal(t, []uint64{o.seed, o.blocks, o.span}, []uint64{again.seed, again.blocks, again.span})
}

// TestRefusals: nothing is written without consent, and a run without a result
// fails.
func TestRefusals(t *testing.T) {
	var out, errs strings.Builder
	require.Equal(t, exitFailed, run(context.Background(), []string{"-device", os.DevNull}, &out, &errs))
	require.Contains(t, errs.String(), "not an NVMe namespace")
	require.Equal(t, exitUsage, run(context.Background(), []string{"-for", "-1s"}, &out, &errs))
	r := soakHere(context.Background(), &options{hang: time.Minute, seed: 1}, nil, &out, &errs)
	require.Equal(t, exitFailed, r.code())
	require.Contains(t, r.verdict(), "NO RESULT")
}

// TestCodes: the worst run decides.
func TestCodes(t *testing.T) {
	for want, r := range map[int]Run{
		exitOK: {}, exitMismatch: {Mismatched: 1, Hang: "x"}, exitHang: {Hang: "x", Unexplained: 1}, exitFailed: {Unexplained: 1}, exitInterrupted: {Interrupted: true},
	} {
		require.Equal(t, want, r.code())
	}
	require.Equal(t, exitFailed, (&Run{Leaks: []string{"x"}}).code())
	require.Equal(t, exitFailed, (&Run{Error: "x"}).code())
	require.Equal(t, exitMismatch, (&Record{Runs: []Run{{}, {Mismatched: 1}, {Leaks: []string{"x"}}}}).code())
}

// TestReport writes the page from records.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	rec := &Record{Schema: Schema, Command: []string{"-blocks", "10M", "-o", "x.json", "--report=y.md", "-seed", "5"}, Runs: []Run{{
		Kernel: "7.3.4", Machine: "amd64, 2 CPUs", Emulated: true, Seed: 5, Seconds: 125, Rounds: 4, Drives: []string{"a", "b"}, Verified: 1234567,
		Paths: []PathResult{{Path: "passthru", Issued: 10, OK: 7, Failed: 2, Cancelled: 1}}, Faults: map[string]uint64{"controller reset": 12},
		Mismatched: 1, Mismatches: []Mismatch{{Drive: "a", Path: "block", Op: "read", LBA: 4, Expected: "x", Found: "y"}},
		Usage: []Usage{{Seconds: 15, FDs: 3}},
	}}}
	path, page := filepath.Join(dir, "r.json"), filepath.Join(dir, "p.md")
	require.NoError(t, writeJSON(path, rec))
	require.NoError(t, reportFrom(page, []string{path, path}))
	b, err := os.ReadFile(page)
	require.NoError(t, err)
	text := string(b)
	require.Equal(t, 2, strings.Count(text, "### 7.3.4, seed 5"))
	for _, want := range []string{
		"| 7.3.4 | EMULATED, amd64, 2 CPUs | 5 | 2 min 05 s | 4 | 1,234,567 |", "go run ./test/soak -blocks 10M -seed 5\n", "| passthru | 0 | 10 | 7 | 2 | 1 |",
		"| controller reset | 12 |", "LBA 4 (0x4) on a: expected x; found y", "| after 0 min 15 s | 3 |",
	} {
		require.Contains(t, text, want)
	}
	require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	require.ErrorContains(t, reportFrom(page, []string{path}), "schema")
}

// TestErrorsOfChildren keep their kind on the way to the parent.
func TestErrorsOfChildren(t *testing.T) {
	require.NoError(t, decodeError("ok"))
	require.ErrorIs(t, decodeError(encodeError(&passthru.KernelError{Op: "write", Errno: syscall.EINTR})), passthru.ErrCancelled)
	fault := nvme.NewStatusError(&nvme.Command{Opcode: nvme.OpWrite}, nvme.SetNVM, nvme.Status(nvme.WriteFault), 0)
	require.ErrorIs(t, decodeError(encodeError(fault)), syscall.EIO)
	require.ErrorContains(t, decodeError(encodeError(errors.New("a\nb"))), "a; b")
}

// TestScatter: parts cover a buffer once, and come together in order.
func TestScatter(t *testing.T) {
	r := &ringRun{session: &session{rng: rand.New(rand.NewPCG(3, 3))}}
	want := make([]byte, 16*512)
	for i := range want {
		want[i] = byte(i * 7 / 512)
	}
	for range 50 {
		buf := make([]byte, len(want))
		parts := r.scatter(buf)
		gather(parts, want, false)
		got := make([]byte, len(want))
		gather(parts, got, true)
		require.Equal(t, want, got)
	}
}

// TestListener: a guest in which something hangs, or that says nothing, is ended.
func TestListener(t *testing.T) {
	var out strings.Builder
	l := &listener{to: &out}
	_, err := fmt.Fprintf(l, "%s%s\n%s", hungPrefix, "a read", "goroutine 1")
	require.NoError(t, err)
	require.Equal(t, "a read", l.hang())
	require.Contains(t, out.String(), "goroutine 1")
	r := Run{Hang: l.hang(), Error: "killed"}
	require.Equal(t, exitHang, r.code())
	require.Contains(t, r.verdict(), "HUNG: a read")

	ctx, end := context.WithCancelCause(t.Context())
	l.last.Store(time.Now().Add(-time.Minute).UnixNano())
	l.watch(ctx, time.Second, end)
	require.ErrorContains(t, context.Cause(ctx), "said nothing for 1s")
	l.watch(ctx, time.Hour, end)
	(&listener{to: &out}).watchHang(ctx, end)
}

// TestSabotagedReads are stale, and found to be.
func TestSabotagedReads(t *testing.T) {
	e, target, out := newTestEngine(t)
	e.o.sabotage = "stale"
	s := e.newSession(target, byQueue, rand.New(rand.NewPCG(1, 1)))
	write := func() []byte {
		data := make([]byte, 2*512)
		o := &op{kind: opWrite, slba: 4, n: 2}
		require.NoError(t, s.prepare(s.whole, o, data, nil))
		s.finish(s.whole, o, done{})
		return data
	}
	read := func(data []byte) {
		found := make([]byte, len(data))
		o := &op{kind: opRead, slba: 4, n: 2}
		require.NoError(t, s.prepare(s.whole, o, found, nil))
		copy(found, data)
		s.finish(s.whole, o, done{data: found})
	}
	read(write())
	require.Empty(t, out.String())
	read(write())
	require.Contains(t, out.String(), "LBA 4 (0x4) on test")
	require.Contains(t, out.String(), "lost write")
}
