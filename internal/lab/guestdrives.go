package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	// driveWait bounds the time for all drives to appear.
	driveWait  = 60 * time.Second
	nvmeDriver = "/sys/bus/pci/drivers/nvme"
)

// awaitDrives waits until every namespace has its block and its character node and the controllers have their numbers.
func (g *initProcess) awaitDrives(drives []guestDrive) error {
	if len(drives) == 0 {
		return nil
	}
	if _, err := os.Stat(nvmeDriver); err != nil {
		return fmt.Errorf("the kernel has no NVMe driver: %w; it is not built in, and no modules lie beside the image; see scripts/lab-kernels.sh", err)
	}
	deadline := time.Now().Add(driveWait)
	if err := waitNodes(drives, deadline); err != nil {
		return err
	}
	problem := orderProblem(drives)
	if problem == nil {
		return nil
	}
	if err := rebind(drives, deadline); err != nil {
		return fmt.Errorf("put the drives in order (%w): %w", problem, err)
	}
	if err := waitNodes(drives, deadline); err != nil {
		return err
	}
	if problem := orderProblem(drives); problem != nil {
		return fmt.Errorf("the drives are not in the asked order, though they were bound one by one: %w", problem)
	}
	return nil
}

// nodes returns how many nodes of a kind the drives have: one per namespace, whatever the count of paths.
func nodes(drives []guestDrive) (n int) {
	for _, d := range drives {
		n += len(d.NSIDs)
	}
	return n
}

// waitNodes waits for controllers, block nodes and character nodes to be complete.
func waitNodes(drives []guestDrive, deadline time.Time) error {
	want := nodes(drives)
	controllers := 0
	for _, d := range drives {
		controllers += len(d.Slots)
	}
	for {
		live, block, char := countLive(), countNodes("/dev/nvme*n*"), countNodes("/dev/ng*n*")
		if live == controllers && block == want && char == want {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %v there are %d of %d controllers, %d of %d block nodes and %d of %d character nodes (kernel 5.13 or later makes them)",
				driveWait, live, controllers, block, want, char, want)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func countNodes(pattern string) int {
	found, err := filepath.Glob(pattern)
	if err != nil {
		return 0
	}
	n := 0
	for _, f := range found {
		if isNamespaceNode(filepath.Base(f)) {
			n++
		}
	}
	return n
}

func countLive() int {
	found, err := filepath.Glob("/sys/class/nvme/nvme*/state")
	if err != nil {
		return 0
	}
	n := 0
	for _, f := range found {
		if readText(f) == "live" {
			n++
		}
	}
	return n
}

// pciAddress is the address of what is in a slot of the root bus, or behind the port that is there.
func pciAddress(slot int) string {
	address := fmt.Sprintf("0000:00:%02x.0", slot)
	behind, err := filepath.Glob(filepath.Join("/sys/bus/pci/devices", address, "????:??:??.?"))
	if err != nil || len(behind) == 0 {
		return address
	}
	return filepath.Base(behind[0])
}

// orderProblem tells which controller has another number than asked, if any.
func orderProblem(drives []guestDrive) error {
	i := 0
	for _, d := range drives {
		for range d.Slots {
			name := fmt.Sprintf("nvme%d", i)
			if got := readText("/sys/class/nvme/" + name + "/serial"); got != d.Serial {
				return fmt.Errorf("%s has serial number %q, not %q", name, got, d.Serial)
			}
			i++
		}
	}
	return nil
}

// rebind takes the controllers from the driver, which probed them in parallel, and gives them back one by one: it numbers them as
// it meets them.
func rebind(drives []guestDrive, deadline time.Time) error {
	var addrs []string
	for _, d := range drives {
		for _, s := range d.Slots {
			addrs = append(addrs, pciAddress(s))
		}
	}
	for _, a := range addrs {
		if err := os.WriteFile(filepath.Join(nvmeDriver, "unbind"), []byte(a), 0); err != nil {
			return err
		}
	}
	if err := await(deadline, "controllers leave the driver", func() bool {
		left, err := filepath.Glob("/sys/class/nvme/nvme*")
		return err == nil && len(left) == 0
	}); err != nil {
		return err
	}
	for i, a := range addrs {
		if err := os.WriteFile(filepath.Join(nvmeDriver, "bind"), []byte(a), 0); err != nil {
			return err
		}
		if err := await(deadline, "controller "+a+" comes up", func() bool { return countLive() == i+1 }); err != nil {
			return err
		}
	}
	return nil
}

// await polls until done reports true.
func await(deadline time.Time, what string, done func() bool) error {
	for !done() {
		if time.Now().After(deadline) {
			return fmt.Errorf("waited in vain until %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
	return nil
}
