package sys

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Mount is mount(2).
func Mount(source, target, fstype string, flags uintptr, data string) error {
	return unix.Mount(source, target, fstype, flags, data)
}

// LoadModule is finit_module(2). compressed asks the kernel to unpack the file
// itself: Linux 5.17 with CONFIG_MODULE_DECOMPRESS, EOPNOTSUPP or EINVAL
// otherwise.
func LoadModule(fd int, params string, compressed bool) error {
	flags := 0
	if compressed {
		flags = unix.MODULE_INIT_COMPRESSED_FILE
	}
	return unix.FinitModule(fd, params, flags)
}

// UnlimitMemlock lifts RLIMIT_MEMLOCK for this process and its children.
func UnlimitMemlock() error {
	limit := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	return unix.Setrlimit(unix.RLIMIT_MEMLOCK, &limit)
}

// PowerOff writes back all file systems and switches the machine off. It comes
// back only with an error.
func PowerOff() error {
	unix.Sync()
	return unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

// KillAll sends sig to every process but the caller and, for an init, itself.
func KillAll(sig syscall.Signal) error { return unix.Kill(-1, sig) }

// Sync is sync(2): it starts writing back every file system and waits for it.
func Sync() { unix.Sync() }

// Uptime is the time since the machine booted, by CLOCK_MONOTONIC.
func Uptime() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // cannot fail for this clock
	return time.Duration(ts.Nano())
}
