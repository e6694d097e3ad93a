package report

import (
	"context"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
)

var update = flag.Bool("update", false, "write the golden files anew")

// requireGolden compares got with a file under testdata.
func requireGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// labKIOPS are figures in the shape of the emulated lab's.
var labKIOPS = map[string]map[iosetup.Path]float64{
	"1_1":    {iosetup.Block: 13.3, iosetup.Passthru: 13.4, iosetup.PassthruPoll: 16.8, iosetup.BlockPoll: 16},
	"8_2":    {iosetup.Block: 31.9, iosetup.Passthru: 33.2, iosetup.PassthruPoll: 44.3, iosetup.BlockPoll: 43.7},
	"16_4":   {iosetup.Block: 55.6, iosetup.Passthru: 65, iosetup.PassthruPoll: 65.3, iosetup.BlockPoll: 64},
	"128_32": {iosetup.Block: 119, iosetup.Passthru: 153, iosetup.PassthruPoll: 136, iosetup.BlockPoll: 124},
}

func sampleOf(step compare.Step) compare.Sample {
	noise := 1 + 0.02*math.Sin(float64(5*step.Order))
	ok := uint64(2000 * labKIOPS[step.Depth.String()][step.Path] * noise)
	batch := float64(step.Depth.Batch)
	return compare.Sample{
		WindowNS: 2e9, OK: ok, Bytes: ok * 512, Run: compare.Counts{Issued: ok + 500, OK: ok + 500}, Enters: ok / uint64(step.Depth.Batch),
		SubmitPerCall: compare.Float(batch), ReapPerCall: compare.Float(batch * 0.75), MeanInFlight: compare.Float(float64(step.Depth.QD) - batch/2 + 0.5),
		UserCPUNS: 200e6, SystemCPUNS: 17e8,
		Settings: iosetup.Effective{
			Polled: step.Path.Polled(), FixedBuffers: iosetup.FixedWhole, RegisteredFiles: true, RegisteredRing: true,
			RingFlags: []string{"SUBMIT_ALL", "SINGLE_ISSUER", "DEFER_TASKRUN"},
		},
	}
}

// fixedTimes replaces the clock's readings, so that the same run always renders alike.
func fixedTimes(r *compare.Result) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r.Started = at
	for i := range r.Cells {
		for j := range r.Cells[i].Rounds {
			round := &r.Cells[i].Rounds[j]
			round.Started = at.Add(time.Duration(round.Order) * 2200 * time.Millisecond)
		}
	}
	r.Finished = at.Add(3 * time.Minute)
}

// labResult is a complete run on one emulated drive.
func labResult(t *testing.T) *compare.Result {
	t.Helper()
	c := compare.DefaultConfig()
	c.Devices = []string{"/dev/ng0n1"}
	res, err := compare.Run(t.Context(), c, func(_ context.Context, step compare.Step) (compare.Sample, error) { return sampleOf(step), nil }, nil)
	require.NoError(t, err)
	res.ToolVersion = "v0.1.0"
	res.SetEnvironment(compare.Environment{
		Kernel: "7.3.0-cloud-amd64", KernelCmdline: "console=ttyS0 nvme.poll_queues=1", CPUModel: "Intel Core i7 9xx (Nehalem Class Core i7)", CPUCount: 2,
		MemlockBytes: new(uint64(8 << 20)), GoVersion: "go1.26.0", IOUringFeatures: []string{"SINGLE_MMAP", "NODROP"},
		Emulated: true, EmulatedReason: "model QEMU NVMe Ctrl", Lab: true, Accelerator: "tcg",
		Devices: []compare.Device{{
			Path: "/dev/ng0n1", CharNode: "/dev/ng0n1", BlockNode: "/dev/nvme0n1", Model: "QEMU NVMe Ctrl", Serial: "lab0", Firmware: "7.2.22", NSID: 1,
			LBAFormat: compare.LBAFormat{DataBytes: 512, MetadataLayout: "none"}, MDTSBytes: new(uint64(512 << 10)), MaxHWSectorsBytes: new(uint64(512 << 10)),
			PollQueues: new(1), Scheduler: "none", TemperatureBeforeCelsius: new(50), TemperatureAfterCelsius: new(50),
		}},
	})
	fixedTimes(res)
	return res
}

// troubledResult is an interrupted run on two drives in which as much as possible went wrong.
func troubledResult(t *testing.T) *compare.Result {
	t.Helper()
	c := compare.DefaultConfig()
	c.Devices = []string{"/dev/ng0n1", "/dev/ng1n1"}
	c.Depths = []iosetup.Depth{{QD: 1, Batch: 1}, {QD: 128, Batch: 32}}
	c.Rounds, c.Rule, c.RegisteredFiles, c.CPU = 4, iosetup.RuleTIOUring, false, new(1)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	res, err := compare.Run(ctx, c, func(_ context.Context, step compare.Step) (compare.Sample, error) {
		s := sampleOf(step)
		s.Settings.RegisteredFiles = false
		switch {
		case step.Order == 60:
			cancel(errors.New("interrupt"))
			s.WindowNS /= 2
		case step.Device == "/dev/ng1n1" && step.Path == iosetup.Passthru:
			return compare.Sample{}, errors.New("read /dev/ng1n1: EACCES: the drive's effects log does not allow this command to an " +
				"ordinary user; run as root\nor give CAP_SYS_ADMIN")
		case step.Device == "/dev/ng1n1" && step.Depth.QD == 1:
			s.OK, s.Bytes, s.Enters, s.Run = 0, 0, 0, compare.Counts{Issued: 3, Failed: 2, Cancelled: 1}
			s.SubmitPerCall, s.ReapPerCall, s.MeanInFlight = nil, nil, nil
			s.Failed, s.Errors = 2, map[string]uint64{"LBA Out of Range (0x80)": 1, "EINVAL": 1}
		case step.Path == iosetup.Passthru && step.Round == 2:
			s.Run.Issued += 7
		case step.Path == iosetup.PassthruPoll:
			s.Settings.Polled, s.Settings.FixedBuffers = false, "plain (EINVAL: kernel before 6.12)"
		}
		return s, nil
	}, nil)
	require.ErrorContains(t, err, "interrupt")
	res.SetEnvironment(compare.Environment{
		Kernel: "6.1.0", CPUModel: "AMD EPYC 9354P 32-Core Processor", CPUCount: 64, Governor: "performance",
		Devices: []compare.Device{{
			Path: "/dev/ng0n1", Model: "Caf\u00e9 \"Express\"\x07 4096 with a name that is far longer than the forty bytes a model may have", Firmware: "1,0",
			LBAFormat: compare.LBAFormat{Index: 3, DataBytes: 4096, MetadataBytes: 64, MetadataLayout: "extended", ProtectionType: 1},
		}},
	})
	fixedTimes(res)
	return res
}

// narrowResult is a run without the block path and with too few rounds.
func narrowResult(t *testing.T) *compare.Result {
	t.Helper()
	c := compare.DefaultConfig()
	c.Devices, c.Paths, c.Depths, c.Rounds = []string{"/dev/ng0n1"}, []iosetup.Path{iosetup.PassthruPoll}, []iosetup.Depth{{QD: 8, Batch: 2}}, 1
	res, err := compare.Run(t.Context(), c, func(_ context.Context, step compare.Step) (compare.Sample, error) { return sampleOf(step), nil }, nil)
	require.NoError(t, err)
	fixedTimes(res)
	return res
}
