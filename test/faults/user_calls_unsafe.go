package faults

import (
	"syscall"
	"time"
	"unsafe"
)

// System calls that only inject faults, and have no place in internal/sys.

const (
	sysIOURingSetup = 425 // io_uring_setup, the same on every architecture
	capSysAdmin     = 21  // CAP_SYS_ADMIN

	prSetNoNewPrivs   = 38
	prSetSeccomp      = 22
	seccompModeFilter = 2
	seccompRetErrno   = 0x00050000
	seccompRetAllow   = 0x7fff0000
	itimerProf        = 2
)

// refuseCall makes the kernel answer a system call of this thread, and of what it
// executes, with an error.
func refuseCall(call uint32, errno syscall.Errno) error {
	filter := []syscall.SockFilter{
		{Code: syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS, K: 0}, // seccomp_data.nr
		{Code: syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K, Jt: 0, Jf: 1, K: call},
		{Code: syscall.BPF_RET | syscall.BPF_K, K: seccompRetErrno | uint32(errno)},
		{Code: syscall.BPF_RET | syscall.BPF_K, K: seccompRetAllow},
	}
	program := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := syscall.Syscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	if _, _, errno := syscall.Syscall6(syscall.SYS_PRCTL, prSetSeccomp, seccompModeFilter, uintptr(unsafe.Pointer(&program)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// profileTimer has the kernel send SIGPROF so often while this process runs, 0 for
// no more.
func profileTimer(every time.Duration) error {
	tv := syscall.NsecToTimeval(int64(every))
	timer := [2]syscall.Timeval{tv, tv} // interval and first value
	if _, _, errno := syscall.Syscall(syscall.SYS_SETITIMER, itimerProf, uintptr(unsafe.Pointer(&timer)), 0); errno != 0 {
		return errno
	}
	return nil
}
