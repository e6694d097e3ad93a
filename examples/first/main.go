// Command first is the program of docs/guide/first-application.md: it reads
// from a namespace, first from several goroutines through the Device, then as
// fast as one goroutine can through a Queue, polled if the drive has poll
// queues. It writes nothing.
package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/nvmepass/nvmepass/iopoll"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: first /dev/ngXnY")
		os.Exit(1)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "first:", err)
		os.Exit(2)
	}
}

func run(path string) (err error) {
	dev, err := passthru.Open(path, nil) // nil: for reading only
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	limits := dev.Limits()
	fmt.Printf("%s: %s, %d blocks of %s, at most %d blocks a command\n",
		dev.Path(), dev.Controller().MN, limits.Blocks, dev.Layout(), limits.MaxBlocks)

	if err := anyGoroutine(dev); err != nil {
		return err
	}
	q, err := newQueue(dev)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	s := q.Settings()
	fmt.Printf("queue: polled %v, fixed buffers %v, ring %v\n", s.Polled, s.FixedBuffers, s.Flags)
	return randomReads(q, limits.Blocks, time.Second)
}

// anyGoroutine reads the same MiB in 8 goroutines: any offset, any length, any
// memory.
func anyGoroutine(dev *passthru.Device) error {
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			part := make([]byte, min(1<<20, dev.Size())/int64(len(errs)))
			_, errs[i] = dev.ReadAt(part, int64(i)*int64(len(part)))
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// newQueue makes a queue for this goroutine, polled if that is possible.
func newQueue(dev *passthru.Device) (*passthru.Queue, error) {
	q, err := dev.NewQueue(passthru.QueueConfig{Depth: 32, Poll: true})
	if errors.Is(err, iopoll.ErrNoPollQueues) {
		fmt.Println(err) // says how to get some
		return dev.NewQueue(passthru.QueueConfig{Depth: 32})
	}
	return q, err
}

// randomReads keeps all slots of the queue in flight for a while, a block each.
func randomReads(q *passthru.Queue, blocks uint64, howLong time.Duration) error {
	for slot := range q.Depth() {
		if err := q.Read(slot, rand.Uint64N(blocks), 1); err != nil {
			return err
		}
	}
	done := make([]passthru.Completion, q.Depth())
	reads, sum := 0, byte(0)
	for began := time.Now(); q.InFlight() > 0; {
		n, err := q.Reap(8, done) // sends, and waits for 8
		if err != nil {
			return err
		}
		more := time.Since(began) < howLong
		for _, c := range done[:n] {
			if err := q.Err(c); err != nil {
				return explain(err)
			}
			sum ^= q.Buffer(c.Slot)[0] // the slot is ours until the next Read
			reads++
			if more {
				if err := q.Read(c.Slot, rand.Uint64N(blocks), 1); err != nil {
					return err
				}
			}
		}
	}
	fmt.Printf("%d reads, %d system calls, xor of first bytes %#02x\n", reads, q.Stats().Enters, sum)
	return nil
}

// explain tells who refused a command.
func explain(err error) error {
	var status *nvme.StatusError
	var kernel *passthru.KernelError
	switch {
	case errors.Is(err, nvme.UnrecoveredReadError):
		return fmt.Errorf("a bad block: %w", err)
	case errors.As(err, &status):
		return fmt.Errorf("the drive answered: %w", err)
	case errors.As(err, &kernel):
		return fmt.Errorf("the kernel refused: %w", err)
	}
	return err
}
