package main

import (
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/internal/units"
)

// bytesValue is a flag in bytes that may be beyond an int's use, such as an
// offset or a rate.
type bytesValue struct{ n *uint64 }

func (v bytesValue) String() string {
	if v.n == nil || *v.n == 0 {
		return ""
	}
	return units.FormatSize(int64(*v.n))
}

func (v bytesValue) Set(s string) error {
	n, err := units.ParseSize(s)
	if err == nil {
		*v.n = uint64(n)
	}
	return err
}

func (v bytesValue) Type() string { return "SIZE" }

// cpusValue is a list of CPUs in the kernel's format.
type cpusValue struct{ cpus *[]int }

func (v cpusValue) String() string {
	if v.cpus == nil {
		return ""
	}
	var parts []string
	for _, c := range *v.cpus {
		parts = append(parts, strconv.Itoa(c))
	}
	return strings.Join(parts, ",")
}

func (v cpusValue) Set(s string) error {
	cpus, err := sysfs.ParseCPUList(s)
	if err == nil && len(cpus) == 0 {
		err = usage("%q: need a list such as 0,2-3", s)
	}
	if err == nil {
		*v.cpus = cpus
	}
	return err
}

func (v cpusValue) Type() string { return "LIST" }

// fioNames lets flags be written with fio's underscores, and some by fio's
// other names.
func fioNames(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	name = strings.ReplaceAll(name, "_", "-")
	switch name {
	case "iodepth":
		name = "qd"
	case "ramp-time":
		name = "warmup"
	case "cpus-allowed":
		name = "cpu"
	case "blocksize":
		name = "bs"
	case "readwrite":
		name = "rw"
	case "randseed":
		name = "seed"
	case "sqthread-poll":
		name = "sqpoll"
	case "sqthread-poll-cpu":
		name = "sqpoll-cpu"
	case "sqthread-poll-idle":
		name = "sqpoll-idle"
	}
	return pflag.NormalizedName(name)
}
