package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
)

// envCPUProfile names a file that gets a CPU profile of the whole process: what
// default.pgo, beside this file, was made from (docs/benchmarks.md).
const envCPUProfile = "NVMEPASS_CPUPROFILE"

// startProfile starts a profile if one is asked for; stop ends it.
func startProfile() (stop func() error, err error) {
	path := os.Getenv(envCPUProfile)
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		return nil, fmt.Errorf("%s=%s: %w: name a file that can be written", envCPUProfile, path, err)
	}
	return func() error {
		pprof.StopCPUProfile()
		return errors.Join(f.Sync(), f.Close())
	}, nil
}
