package sysfs

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
)

// OutOfFiles tells whether an error is about the process or the system having run
// out of descriptors: it says nothing of what was asked for.
func OutOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// MoreFiles is the remedy where descriptors have run out.
const MoreFiles = "close files, or raise the limit of open files (ulimit -n)"

// missed is what this process could not read for that reason.
var missed struct {
	sync.Mutex
	times uint64
	last  error
}

func miss(err error) {
	if !OutOfFiles(err) {
		return
	}
	missed.Lock()
	defer missed.Unlock()
	missed.times++
	missed.last = err
}

// Watch begins to watch over what is read here, where an attribute that cannot be
// read counts as not there. The function that it returns gives an error if one was
// missed since only for want of descriptors. It does not tell who missed it:
// another goroutine's trouble counts.
func Watch() (complete func() error) {
	missed.Lock()
	defer missed.Unlock()
	before := missed.times
	return func() error {
		missed.Lock()
		defer missed.Unlock()
		if missed.times == before {
			return nil
		}
		return fmt.Errorf("read what the kernel says of devices: %w: %s", missed.last, MoreFiles)
	}
}
