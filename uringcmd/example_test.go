package uringcmd_test

import (
	"errors"
	"fmt"
	"os"

	"github.com/nvmepass/nvmepass/uringcmd"
)

// opURingCmd is IORING_OP_URING_CMD (linux/io_uring.h).
const opURingCmd = 46

// A ring over /dev/null, which completes every command at once: slots are
// filled once, and from then on a command is a Publish, 8 of them a system call.
func Example() {
	err := commandsOverNull(1000)
	// io_uring may be switched off where this runs.
	fmt.Println(err == nil || errors.Is(err, uringcmd.ErrDisabled) || errors.Is(err, uringcmd.ErrNotSupported))
	// Output:
	// true
}

func commandsOverNull(commands int) (err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	ring, err := uringcmd.New(uringcmd.Config{Slots: 8, Big: true})
	if err != nil {
		return err
	}
	if err := ring.Enable(); err != nil { // this goroutine now owns it
		return errors.Join(err, ring.Close())
	}
	defer func() { err = errors.Join(err, ring.Close()) }()

	done := make([]uringcmd.Completion, ring.Slots())
	for slot := range ring.Slots() {
		*ring.BigEntry(slot) = uringcmd.BigSQE{Opcode: opURingCmd, FD: int32(null.Fd())}
		if err := ring.Publish(slot); err != nil {
			return err
		}
	}
	for reaped := 0; reaped < commands; {
		if err := ring.Submit(1); err != nil {
			return err
		}
		n := ring.Reap(done)
		reaped += n
		for _, c := range done[:n] { // c.Res is the command's
			if err := ring.Publish(c.Slot); err != nil {
				return err
			}
		}
	}
	return nil
}

// Set-up flags print as the kernel's headers name them.
func ExampleFlags() {
	fmt.Println(uringcmd.SQE128 | uringcmd.CQE32 | uringcmd.IOPoll)
	// Output:
	// IOPOLL|SQE128|CQE32
}

// What is wrong is said before the kernel is asked.
func ExampleNew() {
	_, err := uringcmd.New(uringcmd.Config{Slots: 0})
	fmt.Println(err)
	// Output:
	// set up ring: 0 slots: need 1 to 32768
}
