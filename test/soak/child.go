package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nvmepass/nvmepass/internal/verify"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// The child writes what it is told and says when each write was acknowledged, so
// that it can be killed at any moment: what it said has to be on the drive.
//
//	to the child:   ID SLBA BLOCKS GENERATION
//	from the child: ID ok, or ID and an error

// childMain is the child's side.
func childMain(path string, seed uint64, in io.Reader, out io.Writer) error {
	d, err := passthru.Open(path, &passthru.Config{Writable: true, Depth: childDepth})
	if err != nil {
		return err
	}
	host := d.DataLayout()
	options := nvme.IOOptions{PRACT: d.Layout().PI != nvme.PINone && host.PI == nvme.PINone}
	var mu sync.Mutex // of out
	var group sync.WaitGroup
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var id int
		var slba uint64
		var n, generation uint32
		if _, err := fmt.Sscan(lines.Text(), &id, &slba, &n, &generation); err != nil {
			return fmt.Errorf("order %q: %w", lines.Text(), err)
		}
		group.Go(func() {
			image := verify.NewImage(host, seed, true)
			image.Generation = generation
			data, meta := make([]byte, host.DataLen(n)), make([]byte, host.MetadataLen(n))
			text := "ok"
			err := image.Fill(data, meta, slba, n)
			if err == nil {
				err = d.WriteBlocks(context.Background(), slba, data, meta, options)
			}
			if err != nil {
				text = encodeError(err)
			}
			mu.Lock()
			defer mu.Unlock()
			_, _ = fmt.Fprintln(out, id, text) // a parent that is gone needs no answer
		})
	}
	group.Wait()
	return errors.Join(lines.Err(), d.Close())
}

// childDepth bounds the writes that a child has under way.
const childDepth = 16

// encodeError keeps the kind of an error for the parent to explain.
func encodeError(err error) string {
	kind := "other"
	switch {
	case errors.Is(err, nvme.WriteFault):
		kind = "fault"
	case errors.Is(err, passthru.ErrCancelled):
		kind = "cancelled"
	}
	return kind + " " + strings.ReplaceAll(err.Error(), "\n", "; ")
}

// childError is an error of the child's, of the same kind.
type childError struct {
	text string
	kind error
}

func (e *childError) Error() string { return e.text }
func (e *childError) Unwrap() error { return e.kind }

func decodeError(answer string) error {
	kind, text, _ := strings.Cut(answer, " ")
	switch kind {
	case "ok":
		return nil
	case "fault":
		return &childError{text, syscall.EIO}
	case "cancelled":
		return &childError{text, passthru.ErrCancelled}
	}
	return &childError{text: text}
}

// answer is how a write of the child's ended.
type answer struct {
	id  int
	err error
}

// childTraffic is one life of a child: half of them are killed in the middle of
// their writes.
func (s *session) childTraffic(ctx context.Context, quota int) {
	self, err := os.Executable()
	if err != nil {
		s.e.odd(s.t, s.path, "start child", err)
		return
	}
	cmd := exec.Command(self, roleChild, s.t.path, fmt.Sprint(s.t.seed))
	cmd.Stderr = &strings.Builder{}
	orders, err1 := cmd.StdinPipe()
	answers, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		s.e.odd(s.t, s.path, "start child", err)
		return
	}
	s.child(ctx, quota, cmd, orders, answers)
}

func (s *session) child(ctx context.Context, quota int, cmd *exec.Cmd, orders io.WriteCloser, answers io.Reader) {
	s.e.tally.paths[s.path].opened.Add(1)
	g := s.e.watch.begin("a child that writes to %s", s.t.name)
	defer s.e.watch.end(g)
	started := time.Now()
	ended := make(chan answer, childDepth)
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(answers)
		for lines.Scan() {
			first, rest, _ := strings.Cut(lines.Text(), " ")
			var id int
			if _, err := fmt.Sscan(first, &id); err != nil {
				s.e.odd(s.t, s.path, "answer of child", fmt.Errorf("%q: %w", lines.Text(), err))
				continue
			}
			ended <- answer{id, decodeError(rest)}
		}
	}()
	killAt := quota + 1
	if s.rng.IntN(2) == 0 {
		killAt = s.rng.IntN(quota)
	}
	under := map[int]*op{}
	finish := func(id int, err error) {
		if o := under[id]; o != nil {
			delete(under, id)
			s.finish(s.whole, o, done{err: err})
		}
	}
	killed := false
loop:
	for id := 0; id < quota && ctx.Err() == nil; id++ {
		if id == killAt {
			killed = cmd.Process.Kill() == nil
			s.e.tally.faults.add("child killed while it wrote", 1)
			break loop
		}
		for len(under) == childDepth {
			a, ok := <-ended
			if !ok {
				break loop // what became of it is said below
			}
			finish(a.id, a.err)
		}
		o := s.pick([]opKind{opWrite}, s.t.most)
		if o.write = s.beginWrite(o); o.write == nil {
			continue
		}
		s.e.tally.paths[s.path].issued.Add(1)
		o.began = time.Now()
		under[id] = o
		if _, err := fmt.Fprintln(orders, id, o.slba, o.n, o.write.generation); err != nil {
			break loop
		}
	}
	if err := orders.Close(); err != nil && !killed {
		s.e.odd(s.t, s.path, "close orders of child", err)
	}
	for a := range ended {
		finish(a.id, a.err)
	}
	err := cmd.Wait()
	if err != nil && !killed && !s.t.drive.resets.since(started) { // which may keep it from opening the drive
		s.e.odd(s.t, s.path, "child", fmt.Errorf("%w: %s", err, cmd.Stderr))
	}
	for id := range under {
		finish(id, errKilled)
	}
	// The kernel ends what a dead process has in flight on its own time.
	s.e.orphan(s.t, s.abandoned)
	s.abandoned = nil
}
