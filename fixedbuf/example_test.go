package fixedbuf_test

import (
	"errors"
	"fmt"
	"os"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Slots begin at page boundaries, whatever their size, and end where they end.
func ExampleNew() {
	arena, err := fixedbuf.New(fixedbuf.Config{Slots: 4, SlotSize: 4160})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer arena.Close()
	b := arena.Slot(3)
	fmt.Println(len(b), cap(b), arena.Addr(3)%uint64(os.Getpagesize()))
	// Output:
	// 4160 4160 0
}

// Canaries around the slots show a drive that moved more than it was told to.
func ExampleArena_CheckGuards() {
	arena, err := fixedbuf.New(fixedbuf.Config{Slots: 2, SlotSize: 512, Guard: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer arena.Close()
	copy(arena.Slot(1), "what a slot holds does not matter")
	fmt.Println(arena.CheckGuards())
	// Output:
	// <nil>
}

// Bind registers an arena with a ring as well as this kernel can use it. The
// function that it is given performs a read into the buffers and returns how
// the kernel took it.
func ExampleBind() {
	ring, err := uringcmd.New(uringcmd.Config{Slots: 8, Big: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	read := func(b *fixedbuf.Buffers) error {
		index, ok := b.Fixed(0, 4096)
		fmt.Println("read into slot 0, registered buffer", index, ok)
		return errors.New("what the drive says of the block does not matter")
	}
	bufs, err := fixedbuf.Bind(ring, fixedbuf.Config{Slots: 8, SlotSize: 4096}, read)
	if err == nil {
		fmt.Println(bufs.Mode(), bufs.Reason())
	}
	err = errors.Join(err, ring.Close()) // first, so that nothing uses the memory any more
	if bufs != nil {
		err = errors.Join(err, bufs.Close())
	}
	if err != nil {
		fmt.Println(err)
	}
}
