package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// MapRing maps length bytes of a ring's memory at one of the uapi.Off offsets.
func MapRing(fd int, offset int64, length int) ([]byte, error) {
	return unix.Mmap(fd, offset, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
}

// MapAnonymous maps private memory outside the Go heap, zeroed, at a page
// boundary. With hugeTLB it comes from the reserved huge-page pool and fails
// with ENOMEM where that is empty.
func MapAnonymous(length int, hugeTLB bool) ([]byte, error) {
	flags := unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
	if hugeTLB {
		flags |= unix.MAP_HUGETLB
	}
	return unix.Mmap(-1, 0, length, unix.PROT_READ|unix.PROT_WRITE, flags)
}

// Unmap undoes MapRing and MapAnonymous.
func Unmap(b []byte) error { return unix.Munmap(b) }

// AdviseHugePage asks for transparent huge pages below b (MADV_HUGEPAGE).
func AdviseHugePage(b []byte) error { return unix.Madvise(b, unix.MADV_HUGEPAGE) }

// DontFork keeps b out of child processes (MADV_DONTFORK), so that pages that
// the kernel pinned are never copied away from under a running command.
func DontFork(b []byte) error { return unix.Madvise(b, unix.MADV_DONTFORK) }

// PageSize is the machine's page size in bytes.
func PageSize() int { return os.Getpagesize() }

// MemlockLimit is the soft RLIMIT_MEMLOCK in bytes; unlimited is ^uint64(0).
func MemlockLimit() (uint64, error) {
	var lim unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &lim)
	return lim.Cur, err
}

// HaveIPCLock tells whether this process is exempt from RLIMIT_MEMLOCK
// (CAP_IPC_LOCK in its effective set).
func HaveIPCLock() bool { return haveCapability(unix.CAP_IPC_LOCK) }

// HaveSysAdmin tells whether this process has CAP_SYS_ADMIN.
func HaveSysAdmin() bool { return haveCapability(unix.CAP_SYS_ADMIN) }

func haveCapability(c uint) bool {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&hdr, &data[0]) != nil {
		return false
	}
	return data[c/32].Effective&(1<<(c%32)) != 0
}
