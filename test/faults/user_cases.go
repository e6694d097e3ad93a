package faults

import "slices"

// userShape is the guest of the faults of users and kernels: one drive that takes
// what comes, and one that carries out 400 commands a second.
var userShape = &Shape{
	Name: "user",
	Drives: []string{
		"size=64m,backend=memory,lba=512,serial=fast0",
		"size=64m,backend=memory,lba=512,iops=400,serial=slow0",
	},
	PollQueues: 1,
}

// userCases are the faults of users and kernels. Those that change the machine
// itself come last.
func userCases() []Case {
	return slices.Concat(stormCases(), limitCases(), rightsCases(), killCases(), interruptCases(), outputCases(), timeCases())
}
