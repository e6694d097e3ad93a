package trial

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/workload"
)

// OnThread calls f on an OS thread of its own, pinned to cpu unless that is nil.
// The thread ends with f, so that pinning leaves no trace.
func OnThread(cpu *int, f func() (compare.Sample, error)) (compare.Sample, error) {
	type outcome struct {
		sample compare.Sample
		err    error
	}
	done := make(chan outcome)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends here
		var o outcome
		if cpu != nil {
			if err := sys.PinThread(*cpu); err != nil {
				o.err = fmt.Errorf("pin to CPU %d: %w", *cpu, err)
			}
		}
		if o.err == nil {
			o.sample, o.err = f()
		}
		done <- o
	}()
	o := <-done
	return o.sample, o.err
}

// Measure drives a queue and collects no garbage meanwhile. bytes is what one
// command moves; effective is the mode in which the queue runs. The sample is
// valid also beside an error.
func Measure(ctx context.Context, q workload.Queue, cfg workload.Config, bytes uint64, effective iosetup.Effective) (compare.Sample, error) {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	res, err := workload.Run(ctx, q, cfg)
	if res == nil {
		return compare.Sample{}, err
	}
	w := &res.Window
	var inFlight *float64
	if w.InFlight > 0 { // 0 is no submission: a batch counts before it is sent
		inFlight = compare.Float(w.InFlight)
	}
	return compare.Sample{
		WindowNS: w.Time.Nanoseconds(),
		OK:       w.OK, Failed: w.Failed, Cancelled: w.Cancelled,
		Run:           compare.Counts{Issued: res.Total.Issued, OK: res.Total.OK, Failed: res.Total.Failed, Cancelled: res.Total.Cancelled},
		Bytes:         w.OK * bytes,
		Enters:        w.Enters,
		SubmitPerCall: compare.Float(float64(w.Submitted) / float64(w.Enters)),
		ReapPerCall:   compare.Float(float64(w.Reaped) / float64(w.Enters)),
		MeanInFlight:  inFlight,
		UserCPUNS:     w.UserCPU.Nanoseconds(), SystemCPUNS: w.SystemCPU.Nanoseconds(),
		Settings: effective,
		Errors:   res.Errors,
	}, err
}
