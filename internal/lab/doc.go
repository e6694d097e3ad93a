// Package lab runs a program under a real Linux NVMe driver and emulated drives, on any machine that has QEMU.
//
// [Run] boots a kernel image with an initramfs that holds one static binary as /init. That binary is this project's own: its
// main function hands over to [Init] when [IsInit] reports true. Init mounts the usual file systems, waits for the drives, runs
// the program as a child and sends its output, its exit code and the files it left in /out back to the host. The program is
// either the binary itself or another static executable, such as a test binary that `go test -exec` passes.
//
// What the lab can show is behaviour: which command is accepted, which status comes back, what a path costs relative to
// another one. It cannot show the speed of a drive. Whoever prints a figure asks [Inside] and marks it as emulated.
//
// # Drives
//
// A [Drive] becomes one controller: nvme0, nvme1, ... in the order given. The driver probes controllers in parallel, so
// that the kernel may number them otherwise; Init then compares the serial numbers, takes the controllers from the driver and
// gives them back one after another. The namespaces of one controller have no such order: kernels since 6.12 scan them
// in parallel and number them as they come, so that nvme0n1 may have NSID 2; [FindNamespace] finds them.
//
// The serial number is lab0, lab1, ... unless the drive names one. The null backend moves no data at all: a read leaves the
// guest's buffer as it was, which is what makes it fast. Drives whose data must be kept use the memory or the file backend.
//
// # Transport
//
// The kernel log goes to the first serial port, everything else as frames over the second one, which works with every kernel
// that can boot a PC: no network and no virtio driver is involved. Both streams of the program are binary clean and stay
// separate. A serial port is slow under emulation; bulk data goes through a shared memory device, and the
// port carries only its place.
//
// # Actions
//
// A program in the guest can [Ask] the host to do something to the machine in the middle of its work: stop it for a while, throttle a
// drive until it is as good as stuck, pull and plug one. The host carries it out through QEMU's monitor, which has a socket
// without a name. Only what [Config.Actions] lists is open to the guest.
//
// # Acceleration
//
// KVM is used when /dev/kvm can be opened and the processor offers vmx or svm. A guest that says nothing under KVM within
// [Config.HelloTimeout] is ended and started again with the TCG emulator. The TCG guest has the Nehalem CPU without
// cmpxchg16b, whose emulation crashes newer kernels under QEMU 7.2. On a busy host, that emulator rarely crashes a kernel that
// is changing its own code; a guest that falls to it before its program has started is started again, and so is one whose clock runs
// too fast, because it measured its processor's clock in a bad moment.
//
// # Bounds
//
// Every run is bounded by [Config.Timeout]. QEMU is killed when the run ends for whatever reason, and by the kernel
// when the host process dies. No file has a name on the host while the guest runs, so a killed host leaves none behind.
//
// # Errors
//
// An error of [Run] means that the program's own exit code is not known; it says what to do about it and
// carries the last lines of the kernel log where they help. The sentinels are [ErrNoQEMU], [ErrNoKernel], [ErrKernel],
// [ErrBinary], [ErrPanic], [ErrNoAnswer], [ErrTimeout] and [ErrConfig].
//
// # Threading
//
// [Run] may be called from several goroutines at once, each with a guest of its own.
package lab
