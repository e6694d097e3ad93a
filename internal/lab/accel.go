package lab

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// accelerators returns what to try, in order, and a note on why KVM is not among it when the choice is automatic.
func accelerators(wish string) (list []accelerator, note string, err error) {
	if wish == AccelTCG {
		return []accelerator{accelTCG}, "", nil
	}
	problem := kvmProblem("/dev/kvm", "/proc/cpuinfo")
	switch {
	case problem == nil && wish == AccelKVM:
		return []accelerator{accelKVM}, "", nil
	case problem == nil:
		return []accelerator{accelKVM, accelTCG}, "", nil
	case wish == AccelKVM:
		return nil, "", configError("accelerator kvm: %w; use accelerator auto or tcg", problem)
	default:
		return []accelerator{accelTCG}, fmt.Sprintf("no KVM (%v): the guest is emulated with TCG", problem), nil
	}
}

// kvmProblem returns nil when KVM can be expected to run a guest. A device that opens is not enough: in a virtual machine without
// nested virtualization it may open and then never run an instruction.
func kvmProblem(device, cpuinfo string) error {
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	c, err := os.Open(cpuinfo)
	if err != nil {
		return err
	}
	defer c.Close()
	s := bufio.NewScanner(c)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		name, flags, _ := strings.Cut(s.Text(), ":")
		if strings.TrimSpace(name) != "flags" {
			continue
		}
		list := strings.Fields(flags)
		if slices.Contains(list, "vmx") || slices.Contains(list, "svm") {
			return nil
		}
		break
	}
	if err := s.Err(); err != nil {
		return err
	}
	return errors.New("the processor shows neither vmx nor svm")
}
