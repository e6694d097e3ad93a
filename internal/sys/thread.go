package sys

import (
	"time"

	"golang.org/x/sys/unix"
)

// ThreadID is the calling OS thread's id.
func ThreadID() int { return unix.Gettid() }

// InterruptThread sends SIGURG to a thread of this process, which ends a
// sleeping system call with EINTR. The Go runtime uses the same signal for
// pre-emption and ignores one that it did not ask for.
func InterruptThread(tid int) error {
	return unix.Tgkill(unix.Getpid(), tid, unix.SIGURG)
}

// PinThread binds the calling OS thread to one CPU.
func PinThread(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	return unix.SchedSetaffinity(0, &set)
}

// AllowedCPUs lists the CPUs that the calling thread may run on.
func AllowedCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, err
	}
	var cpus []int
	for i := 0; len(cpus) < set.Count(); i++ {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus, nil
}

// SetThreadCPUs binds the calling thread to a set of CPUs.
func SetThreadCPUs(cpus []int) error {
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	return unix.SchedSetaffinity(0, &set)
}

// ThreadCPU is the processor time that the calling thread has used so far.
func ThreadCPU() (user, system time.Duration) {
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &ru) != nil {
		return 0, 0
	}
	return time.Duration(ru.Utime.Nano()), time.Duration(ru.Stime.Nano())
}

// KernelRelease is uname -r.
func KernelRelease() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}
