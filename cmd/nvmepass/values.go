package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nvmepass/nvmepass/internal/units"
)

// sizeValue is a flag in bytes.
type sizeValue struct {
	n   *int
	set bool
}

func (v *sizeValue) String() string {
	if v.n == nil || !v.set {
		return ""
	}
	return units.FormatSize(int64(*v.n))
}

func (v *sizeValue) Set(s string) error {
	n, err := units.ParseSize(s)
	if err == nil {
		*v.n, v.set = int(n), true
	}
	return err
}

func (v *sizeValue) Type() string { return "SIZE" }

// timeValue is a flag that takes seconds or a time with a unit.
type timeValue struct{ d *time.Duration }

func (v timeValue) String() string {
	if v.d == nil {
		return ""
	}
	s := v.d.String()
	if strings.HasSuffix(s, "m0s") { // 10m0s is 10m
		s = strings.TrimSuffix(s, "0s")
	}
	return s
}

func (v timeValue) Set(s string) error {
	d, err := units.ParseDuration(s)
	if err == nil {
		*v.d = d
	}
	return err
}

func (v timeValue) Type() string { return "TIME" }

// cpuValue is a flag that names a CPU; not given means none.
type cpuValue struct{ cpu **int }

func (v cpuValue) String() string {
	if v.cpu == nil || *v.cpu == nil {
		return ""
	}
	return strconv.Itoa(**v.cpu)
}

func (v cpuValue) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil {
		return fmt.Errorf("CPU %q: need a number from 0", s)
	}
	*v.cpu = &n
	return nil
}

func (v cpuValue) Type() string { return "CPU" }
