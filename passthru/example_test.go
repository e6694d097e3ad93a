package passthru_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// Open looks at what a node is, not at its name.
func ExampleOpen() {
	_, err := passthru.Open(os.DevNull, nil)
	if op, ok := errors.AsType[*passthru.OpError](err); ok {
		fmt.Println(op.Op, op.Path)
	}
	fmt.Println(errors.Is(err, passthru.ErrWrongNode))
	// Output:
	// open /dev/null
	// true
}

// A Device is an io.ReaderAt and io.WriterAt for any goroutine.
func ExampleDevice_WriteAt() {
	dev, err := passthru.Open("/dev/ng0n1", &passthru.Config{Writable: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	block := make([]byte, dev.DataLayout().Unit())
	copy(block, "hello")
	if _, err := dev.WriteAt(block, 0); err != nil { // whole blocks
		fmt.Println(err)
		return
	}
	if err := dev.Flush(context.Background()); err != nil { // now durable
		fmt.Println(err)
		return
	}
	hello := make([]byte, 5)
	if _, err := dev.ReadAt(hello, 0); err != nil { // any bytes
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", hello)
}

// A read that takes too long is given up; its command goes on, into memory that
// is the Device's.
func ExampleDevice_ReadAtContext() {
	dev, err := passthru.Open("/dev/ng0n1", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = dev.ReadAtContext(ctx, make([]byte, 1<<20), 0)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		fmt.Println("the drive is slow today")
	case errors.Is(err, nvme.UnrecoveredReadError):
		fmt.Println("a bad block")
	case errors.Is(err, passthru.ErrCancelled):
		fmt.Println("the controller was reset, or is gone")
	case err != nil:
		fmt.Println(err)
	}
}

// Do sends any command of the namespace's command set. It is checked first.
func ExampleDevice_Do() {
	dev, err := passthru.Open("/dev/ng0n1", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	verify, err := nvme.NewVerify(dev.NSID(), dev.Layout(), 0, 8, nvme.IOOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = dev.Do(context.Background(), verify, nil)
	fmt.Println("8 blocks verified:", err)
}

// A Queue belongs to the goroutine that made it. One system call sends a batch
// and waits for completions.
func ExampleDevice_NewQueue() {
	dev, err := passthru.Open("/dev/ng0n1", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	q, err := dev.NewQueue(passthru.QueueConfig{Depth: 32, Poll: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer q.Close()
	for slot := range q.Depth() {
		if err := q.Read(slot, uint64(slot), 1); err != nil {
			fmt.Println(err)
			return
		}
	}
	done := make([]passthru.Completion, q.Depth())
	n, err := q.Reap(q.Depth(), done)
	for _, c := range done[:n] {
		if err := q.Err(c); err != nil {
			fmt.Println("slot", c.Slot, err)
			continue
		}
		fmt.Printf("slot %d: %x\n", c.Slot, q.Buffer(c.Slot)[:8])
	}
	if err != nil {
		fmt.Println(err)
	}
}

// The host makes the protection information of a block and checks it when it
// comes back; the controller checks both ways.
func ExampleDevice_WriteBlocks() {
	dev, err := passthru.Open("/dev/ng0n1", &passthru.Config{Writable: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	layout := dev.BlockLayout(false) // without PRACT
	const slba, blocks = 100, 4
	data := make([]byte, layout.DataLen(blocks))
	meta := make([]byte, layout.MetadataLen(blocks)) // empty if it lies in data
	if err := layout.GeneratePI(data, meta, slba, nvme.PI{App: 7}); err != nil {
		fmt.Println(err) // no protection information in this layout
		return
	}
	ctx := context.Background()
	check := nvme.IOOptions{PRCHK: nvme.CheckGuard | nvme.CheckRef}
	if err := dev.WriteBlocks(ctx, slba, data, meta, check); err != nil {
		fmt.Println(err)
		return
	}
	if err := dev.ReadBlocks(ctx, slba, data, meta, check); err != nil {
		fmt.Println(err) // matches nvme.GuardCheckError and its like
		return
	}
	err = layout.VerifyPI(data, meta, slba, nvme.PICheck{Check: nvme.CheckGuard | nvme.CheckRef})
	fmt.Println("as written:", err)
}
