package iopoll_test

import (
	"errors"
	"fmt"

	"github.com/nvmepass/nvmepass/iopoll"
)

// A namespace that cannot be polled says so before a ring is made; the message
// has the boot option. Support usually comes from passthru.Device.Poll.
func ExampleSupport_Check() {
	none := iopoll.Support{Parameter: 0}
	fmt.Println(none.Count(), errors.Is(none.Check(), iopoll.ErrNoPollQueues))
	// Output:
	// 0 true
}

// With two poll queues for four CPUs, a thread on CPU 2 polls the second.
func ExampleSupport_QueueFor() {
	s := iopoll.Support{Enabled: true, Queues: [][]int{{0, 1}, {2, 3}}}
	fmt.Println(s.Check(), s.Count(), s.QueueFor(2))
	// Output:
	// <nil> 2 1
}
