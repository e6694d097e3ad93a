package lab

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestQEMUArgs(t *testing.T) {
	for _, c := range []struct {
		name   string
		accel  accelerator
		drives []string
	}{
		{"plain", accelTCG, []string{""}},
		{"kvm", accelKVM, nil},
		{"metadata", accelTCG, []string{"lba=4096,ms=64,mset", "ms=8,pi=1,pil", "lba=4096,ms=16,pi=1,pif=2"}},
		{"zoned", accelTCG, []string{"zoned,zone-size=4m,zone-capacity=3m,max-open=4", "zoned,max-active=8,backend=memory"}},
		{"slow", accelTCG, []string{"iops=20,bw=1m,latency=80us,mdts=0,queues=4"}},
		{"hotplug", accelTCG, []string{"hotplug,backend=memory,iops=5,queues=2", ""}},
		{"errors-once", accelTCG, []string{"error-sectors=2048,errors-once", "zoned,zasl=3,mdts=5"}},
		{"errors", accelTCG, []string{"error-sectors=2048+2,write-error-sectors=7,backend=memory,iops=100"}},
		{"namespaces", accelTCG, []string{"nsid=3:17,serial=ABC,backend=memory,size=3t,format=qcow2", "multipath,zeroes", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var drives []Drive
			for _, s := range c.drives {
				d, err := ParseDrive(s)
				require.NoError(t, err)
				drives = append(drives, d)
			}
			drives, err := spreadDrives(drives)
			require.NoError(t, err)
			m := machine{accel: c.accel, cpus: 2, memoryMiB: 1024, kernel: "/k", initrd: "/dev/fd/3", cmdline: kernelArgs(Config{PollQueues: 1}), console: "/dev/fd/4", shared: "/dev/fd/5"}
			for _, d := range drives {
				a := attachedDrive{Drive: d}
				for range d.Namespaces {
					a.images = append(a.images, `/dev/fd/6,"x"`)
				}
				m.drives = append(m.drives, a)
			}
			got := strings.Join(m.args(), "\n") + "\n"
			golden := filepath.Join("testdata", "qemu", c.name+".args")
			if *update {
				writeFile(t, golden, []byte(got))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

func TestKernelArgs(t *testing.T) {
	require.Contains(t, kernelArgs(Config{PollQueues: 3}), " nvme.poll_queues=3")
	require.NotContains(t, kernelArgs(Config{}), "poll_queues")
	require.True(t, insideIn(kernelArgs(Config{})))
	require.False(t, insideIn("quiet nvmepass.lab=10"))
	require.True(t, strings.HasSuffix(kernelArgs(Config{Append: "a.b=1 c"}), " a.b=1 c"))
	require.Contains(t, kernelArgs(Config{MemoryMiB: 512}), " hugepages=16")
	require.NotContains(t, kernelArgs(Config{MemoryMiB: 511}), "hugepages")
	require.NotContains(t, kernelArgs(Config{Console: os.Stderr}), "quiet")
}

func TestQEMUVersion(t *testing.T) {
	fake := func(script string) string {
		return writeFile(t, filepath.Join(t.TempDir(), "qemu"), []byte("#!/bin/sh\n"+script+"\n"))
	}
	v, err := qemuVersion(context.Background(), fake("echo QEMU emulator version 8.2.0 '(x)'"))
	require.NoError(t, err)
	require.Equal(t, "8.2.0", v)
	for script, says := range map[string]string{
		"echo QEMU emulator version 6.2.0": "7.0 or later",
		"echo hello":                       "names no version",
		"echo broken >&2; exit 3":          "broken",
	} {
		_, err := qemuVersion(context.Background(), fake(script))
		require.ErrorIs(t, err, ErrNoQEMU)
		require.ErrorContains(t, err, says)
	}
	_, err = findQEMU("no-such-qemu-anywhere")
	require.ErrorIs(t, err, ErrNoQEMU)
	require.ErrorContains(t, err, "qemu-system-x86")
}
