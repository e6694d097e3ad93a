package ringtest

import (
	"math/rand/v2"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/uapi"
)

// Adversary makes a Kernel behave as badly as a kernel may, from a seed: it
// takes fewer entries than it was told of, refuses calls (EINTR, EAGAIN, EBUSY,
// ENOMEM), completes late and in any order, and posts completions that belong
// to no command in flight. It never loses a command: a wait that is repeated
// ends.
//
// Like a kernel, it posts inside enter with GETEVENTS alone where the ring is
// polled or defers its task work; elsewhere Work posts at any time.
type Adversary struct {
	// OnTake sees every entry that is taken, whose image is valid during the
	// call, and says how it will end.
	OnTake func(Entry) (res int32, result uint64)
	// OnPost learns of every completion entry in the order of the queue.
	OnPost func(userData uint64, res int32, result uint64, stale bool)
	// Calm ends the refusals.
	Calm bool
	// Stale is how often, of 256 completions, one is followed by a stale one.
	Stale uint64

	// Taken counts entries, Refused calls that failed for want of resources
	// and Failed those that failed for a reason that no repetition mends.
	Taken, Refused, Failed uint64

	kernel  *Kernel
	random  *rand.PCG
	held    []posted // taken, not completed
	late    []posted // completed while the queue was full
	past    [64]uint64
	pasts   uint64
	refused bool // the last call
}

// NewAdversary takes over k's OnEnter.
func NewAdversary(k *Kernel, seed uint64) *Adversary {
	a := &Adversary{kernel: k, random: rand.NewPCG(seed, 0xadd), Stale: 8}
	k.OnEnter = a.enter
	return a
}

// Held counts commands that were taken and have no completion entry.
func (a *Adversary) Held() int { return len(a.held) + len(a.late) }

// Release completes everything that can be.
func (a *Adversary) Release() { a.complete(len(a.held)) }

func (a *Adversary) has(flag uint32) bool { return a.kernel.SetupFlags()&flag != 0 }

// Work is what a kernel does on its own between two calls.
func (a *Adversary) Work() {
	if a.has(uapi.SetupIOPoll | uapi.SetupDeferTaskrun) {
		return
	}
	x := a.random.Uint64()
	if a.has(uapi.SetupSQPoll) {
		if x&7 == 0 {
			a.kernel.Raise(uapi.SQNeedWakeup, true)
		} else if x&3 == 0 {
			a.take(uint32(x>>8) % (a.kernel.Waiting() + 1))
		}
	}
	a.complete(int(x>>40) % (len(a.held) + 1))
}

func (a *Adversary) enter(n, minComplete, flags uint32) (int, syscall.Errno) {
	x := a.random.Uint64()
	events := flags&uapi.EnterGetEvents != 0
	if x&15 == 0 && !a.refused && !a.Calm { // not twice, since the ring then sleeps
		a.refused = true
		if events {
			a.complete(int(x>>40) % (len(a.held) + 1))
		}
		switch x >> 4 & 7 {
		case 0, 1, 2:
			return 0, syscall.EINTR
		case 3, 4:
			a.Refused++
			return 0, syscall.EAGAIN
		case 5, 6:
			a.Refused++
			return 0, syscall.EBUSY
		}
		a.Failed++
		return 0, syscall.ENOMEM
	}
	a.refused = false
	todo := n
	if a.has(uapi.SetupSQPoll) {
		if flags&uapi.EnterSQWakeup != 0 {
			a.kernel.Raise(uapi.SQNeedWakeup, false)
		}
		todo = a.kernel.Waiting()
	}
	if x>>8&7 == 0 {
		todo = uint32(x>>12) & 0xfff % (todo + 1)
	}
	a.take(todo)
	if events || !a.has(uapi.SetupIOPoll|uapi.SetupDeferTaskrun) {
		a.flush(events)
		a.complete(int(x>>40) & 0xff % (len(a.held) + 1))
	}
	signal := x>>52&15 == 0
	if events && todo >= n && !signal { // a short submit does not wait
		if a.has(uapi.SetupIOPoll) {
			minComplete = min(minComplete, 1) // with unread ones there it does not poll
		}
		for a.kernel.Unread() < minComplete && len(a.held) > 0 {
			a.complete(1)
		}
	}
	if events && signal && todo == 0 {
		return 0, syscall.EINTR
	}
	return int(todo), 0
}

func (a *Adversary) take(n uint32) {
	for range n {
		e, ok := a.kernel.Consume()
		if !ok {
			return
		}
		a.Taken++
		res, result := a.OnTake(e)
		a.held = append(a.held, posted{e.SQE().UserData, res, result})
	}
}

// complete ends n of the commands that were taken, in any order.
func (a *Adversary) complete(n int) {
	for range n {
		x := a.random.Uint64()
		i := int(x>>32) % len(a.held)
		p := a.held[i]
		a.held[i] = a.held[len(a.held)-1]
		a.held = a.held[:len(a.held)-1]
		if len(a.late) > 0 || a.kernel.Room() == 0 {
			a.late = append(a.late, p)
			a.kernel.Raise(uapi.SQCQOverflow, true)
			continue
		}
		a.post(p, x)
	}
}

// flush posts what did not fit the queue.
func (a *Adversary) flush(events bool) {
	if !events {
		return
	}
	for len(a.late) > 0 && a.kernel.Room() > 0 {
		a.post(a.late[0], a.random.Uint64())
		a.late = a.late[1:]
	}
	if len(a.late) == 0 {
		a.kernel.Raise(uapi.SQCQOverflow, false)
	}
}

func (a *Adversary) post(p posted, x uint64) {
	a.kernel.Post(p.userData, p.res, p.result)
	a.OnPost(p.userData, p.res, p.result, false)
	a.past[a.pasts%uint64(len(a.past))] = p.userData
	a.pasts++
	// Stale ones fill a quarter of the queue at most.
	if x&255 >= a.Stale || a.kernel.Room() <= a.kernel.params.CQEntries*3/4 {
		return
	}
	doubled := a.past[x>>8%min(a.pasts, uint64(len(a.past)))]
	wrong := [...]uint64{
		doubled,
		doubled + 1<<32, // the generation that says free
		doubled ^ 1<<63, // one that never was
		doubled | 0xfffff000,
		x &^ (1 << 32),
	}[x>>16%5]
	a.kernel.Post(wrong, p.res, p.result)
	a.OnPost(wrong, p.res, p.result, true)
}
