package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/passthru"
)

func limitCases() []Case {
	return []Case{
		{
			Name:  "memlock",
			Fault: "RLIMIT_MEMLOCK of 0 and of 64 KiB, for a process without CAP_IPC_LOCK",
			Must:  "the run goes on with plain buffers, and its record says why, with the limit",
			Bound: time.Minute, Shape: userShape, Exit: 0, Run: memlock,
		},
		{
			Name:  "no-huge-pages",
			Fault: "buffers in huge pages are asked for, and none are reserved",
			Must:  "refused before any I/O, with vm.nr_hugepages as the remedy; no fall-back in silence",
			Bound: time.Minute, Shape: userShape, Exit: 2, Run: noHugePages,
		},
		{
			Name:  "address-space-limit",
			Fault: "RLIMIT_AS leaves no room for the buffers of a Queue, of a Device, or of one large command",
			Must:  "an error that names the size; what fits works afterwards in the same process",
			Bound: time.Minute, Shape: userShape, Exit: LibraryOnly, Run: addressSpace,
		},
		{
			Name:  "memory-cgroup-limit",
			Fault: "a memory control group of 48 MiB for a run with 256 MiB of buffers",
			Must:  "the kernel ends that process alone; the drive is usable at once",
			Bound: time.Minute, Shape: userShape, Exit: 128 + 9, Run: memoryGroup,
		},
		{
			Name:  "descriptor-limit",
			Fault: "RLIMIT_NOFILE is reached at each step of opening a Device, its engine and queues, one after the other",
			Must:  "each step fails with the limit and its remedy, or succeeds as it does without; no descriptor stays open",
			Bound: 2 * time.Minute, Shape: userShape, Exit: LibraryOnly, Run: descriptorLimit,
		},
	}
}

const rlimitMemlock = 8 // RLIMIT_MEMLOCK

func memlock(t *testing.T, g *Guest) (o Outcome) {
	d := g.Drive(t, "fast0")
	chmod(t, d.Generic, 0o666)
	chmod(t, d.Block, 0o666)
	for _, limit := range []uint64{0, 64 << 10} {
		for _, path := range []string{"passthru", "passthru-poll", "block"} {
			var p *Tool
			withLimit(t, rlimitMemlock, limit, func() {
				p = g.Start(t, asNobody(capSysAdmin), "run", d.Generic, "--path", path, "--bs", "4k", "--number-ios", "2000", "-o", "json", "--progress", "none")
			})
			run := g.Wait(t, p)
			require.Zero(t, run.Exit)
			o = o.Add(recordOf(t, run))
			res, err := jobs.Decode(strings.NewReader(run.Stdout))
			require.NoError(t, err)
			for _, says := range []string{"plain (", "RLIMIT_MEMLOCK", fmt.Sprint(limit)} {
				require.Contains(t, res.Jobs[0].Settings.FixedBuffers, says)
			}
		}
	}
	require.Equal(t, o.Issued, o.OK)
	return o
}

func noHugePages(t *testing.T, g *Guest) Outcome {
	setting(t, g, "/proc/sys/vm/nr_hugepages", "0")
	d := g.Drive(t, "fast0")
	run := g.Tool(t, "run", d.Generic, "--hugepages", "--number-ios", "10", "-o", "json")
	requireNoResult(t, run)
	for _, says := range []string{"huge pages", "vm.nr_hugepages", "0 are free"} {
		require.Contains(t, run.Stderr, says)
	}
	return usable(t, d.Generic)
}

func init() { tasks["address-space"] = addressSpaceTask }

// addressSpaceAnswer has the errors of what did not fit, and that of what did.
type addressSpaceAnswer struct{ Queue, Device, Command, Small string }

func addressSpaceTask(c childTask) (any, error) {
	var a addressSpaceAnswer
	const room = 96 << 20
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, err
	}
	var kib uint64
	_, after, _ := strings.Cut(string(status), "VmSize:")
	if _, err := fmt.Sscan(after, &kib); err != nil {
		return nil, err
	}
	small, err := passthru.Open(c.Node, &passthru.Config{Depth: 4, BufferSize: loadBlock})
	if err != nil {
		return nil, err
	}
	limit := kib<<10 + room
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		return nil, err
	}
	_, err = small.NewQueue(passthru.QueueConfig{Depth: 4096, BufferSize: 128 << 10})
	a.Queue = fmt.Sprint(err)
	large, err := passthru.Open(c.Node, &passthru.Config{Depth: 4096})
	if err != nil {
		return nil, err
	}
	_, err = large.ReadAt(make([]byte, 1<<20), 0)
	a.Device = fmt.Sprint(err)
	if err := large.Close(); err != nil {
		return nil, err
	}
	_, err = small.ReadAt(make([]byte, 1<<20), 0)
	a.Small = fmt.Sprint(err)
	return a, small.Close()
}

func addressSpace(t *testing.T, g *Guest) Outcome {
	node := g.Drive(t, "fast0").Generic
	var a addressSpaceAnswer
	childTask{Name: "address-space", Node: node}.do(t, &a)
	for _, text := range []string{a.Queue, a.Device} {
		for _, says := range []string{"map 53", "cannot allocate memory", "fewer or smaller"} {
			require.Contains(t, text, says)
		}
	}
	require.Equal(t, "<nil>", a.Small)
	return usable(t, node).Add(Outcome{Issued: 256, OK: 256}) // the MiB of the child
}

func memoryGroup(t *testing.T, g *Guest) Outcome {
	root := t.TempDir()
	require.NoError(t, sys.Mount("cgroup2", root, "cgroup2", 0, ""))
	defer func() { require.NoError(t, syscall.Unmount(root, 0)) }()
	if b, err := os.ReadFile(root + "/cgroup.controllers"); err != nil || !strings.Contains(string(b), "memory") {
		g.Lacks(t, "this kernel has no memory controller in control groups")
	}
	require.NoError(t, os.WriteFile(root+"/cgroup.subtree_control", []byte("+memory"), 0))
	group := filepath.Join(root, "small")
	require.NoError(t, os.Mkdir(group, 0o755))
	defer func() {
		require.Eventually(t, func() bool { return os.Remove(group) == nil }, 20*time.Second, 20*time.Millisecond)
	}()
	require.NoError(t, os.WriteFile(group+"/memory.max", []byte("48M"), 0))
	f, err := os.Open(group)
	require.NoError(t, err)
	defer f.Close()
	node := g.Drive(t, "fast0").Generic
	p := g.Start(t, func(c *exec.Cmd) {
		c.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(f.Fd())}
	}, "run", node, "--qd", "2048", "--bs", "128k", "--runtime", "5", "-o", "json", "--progress", "none")
	run := g.Wait(t, p)
	require.Equal(t, 128+9, run.Exit)
	requireNoResult(t, run)
	o := usable(t, node)
	o.Note = "ended by the kernel's OOM killer: registering touches every page of the buffers"
	return o
}

func init() { tasks["descriptors"] = descriptorTask }

// descriptorAnswer is how far each limit came.
type descriptorAnswer struct {
	Steps    []descriptorStep
	Commands uint64 // that were sent in all
}

type descriptorStep struct {
	Free int    // descriptors that were left
	Step string // that failed, "" for none
	Text string
	Left int // descriptors open afterwards that were not before
}

// descriptorTask opens, reads and closes with room for one descriptor, then two,
// and so on, until everything works three times in a row.
func descriptorTask(c childTask) (any, error) {
	var a descriptorAnswer
	full := func() (string, error) { return openAll(c.Node, &a.Commands) }
	for range 2 { // the runtime's own descriptors come with the first use
		if step, err := full(); err != nil {
			return nil, fmt.Errorf("%s: %w", step, err)
		}
	}
	inUse := func() int {
		fds, _ := filepath.Glob("/proc/self/fd/*")
		return len(fds)
	}
	base := inUse()
	var most syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &most); err != nil {
		return nil, err
	}
	for free, good := 0, 0; good < 3 && free < 200; free++ {
		highest := 0
		fds, _ := filepath.Glob("/proc/self/fd/*")
		for _, fd := range fds {
			if _, err := os.Readlink(fd); err == nil { // not the one of the listing
				highest = max(highest, number(filepath.Base(fd)))
			}
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: uint64(highest + 1 + free), Max: most.Max}); err != nil {
			return nil, err
		}
		step, err := full()
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &most); err != nil {
			return nil, err
		}
		good++
		if err != nil {
			good = 0
		}
		left := inUse()
		for range 50 { // a worker's thread may be on its way out
			if left <= base {
				break
			}
			time.Sleep(10 * time.Millisecond)
			left = inUse()
		}
		a.Steps = append(a.Steps, descriptorStep{free, step, fmt.Sprint(err), left - base})
	}
	return a, nil
}

// openAll goes through everything that opens something, and says what failed.
func openAll(node string, sent *uint64) (step string, err error) {
	d, err := passthru.Open(node, &passthru.Config{Depth: 4, BufferSize: loadBlock})
	if err != nil {
		return "open", err
	}
	defer func() {
		if cerr := d.Close(); cerr != nil && err == nil {
			step, err = "close", cerr
		}
	}()
	if d.Limits().MaxSegments == 0 || d.Limits().MaxHWSectors == 0 || d.Poll().Check() != nil {
		return "limits", fmt.Errorf("the limits are other ones than without a limit: %+v", d.Limits())
	}
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() { _, errs[i] = d.ReadAt(make([]byte, 4*loadBlock), 0) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return "read", err
		}
		*sent += 4
	}
	for _, poll := range []bool{false, true} {
		q, err := d.NewQueue(passthru.QueueConfig{Depth: 2, Poll: poll})
		if err != nil {
			return "queue", err
		}
		if err := q.Close(); err != nil {
			return "close queue", err
		}
	}
	return "", nil
}

func descriptorLimit(t *testing.T, g *Guest) Outcome {
	node := g.Drive(t, "fast0").Generic
	var a descriptorAnswer
	childTask{Name: "descriptors", Node: node}.do(t, &a)
	failed := map[string]int{}
	for _, s := range a.Steps {
		t.Logf("%+v", s)
		require.Zero(t, s.Left, "%+v", s)
		if s.Step == "" {
			continue
		}
		failed[s.Step]++
		require.Contains(t, []string{"open", "read", "queue"}, s.Step, s.Text)
		require.Contains(t, s.Text, "too many open files")
		require.Contains(t, s.Text, "ulimit -n", "%+v", s)
	}
	for _, step := range []string{"open", "read"} {
		require.Positive(t, failed[step], "%s was never out of descriptors", step)
	}
	require.Empty(t, a.Steps[len(a.Steps)-1].Step)
	return Outcome{Issued: a.Commands, OK: a.Commands}
}
