package uringcmd

import (
	"errors"
	"sync/atomic"
	"syscall"
	"time"
)

// lingers is how long a ring that was closed is waited for. The kernel takes it
// down by itself, some milliseconds after its descriptor is closed
// (io_ring_exit_work), and until then its buffers, and on 6.18 (seen) its
// queues, count against an ordinary user's RLIMIT_MEMLOCK.
const lingers = 2 * time.Second

// lastClosed is when this process last closed a ring of the running kernel, in
// nanoseconds since 1970, 0 for never.
var lastClosed atomic.Int64

// patiently calls f, and again for as long as it lacks memory that a ring which
// was just closed may still hold.
func patiently(f func() error) error {
	err := f()
	closed := lastClosed.Load()
	for pause := time.Millisecond; errors.Is(err, syscall.ENOMEM) && closed != 0 && time.Since(time.Unix(0, closed)) < lingers; pause *= 2 {
		time.Sleep(pause)
		err = f()
	}
	return err
}
