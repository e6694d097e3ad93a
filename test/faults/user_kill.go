package faults

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ioqueue"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

func killCases() []Case {
	return []Case{{
		Name:  "kill-during-writes",
		Fault: "SIGKILL at random moments of a process that writes: by ring, by ioctl, and by queues on each path (polled passthrough from Linux 6.6 on)",
		Must:  "every acknowledged block is intact, every other one is whole, old or new; the drive is usable at once. Acknowledged is what the drive took; it survives a loss of power only after a flush",
		Bound: 4 * time.Minute, Shape: userShape, Exit: LibraryOnly, Run: killDuringWrites,
	}}
}

// A killed writer has killBlocks blocks of loadBlock bytes, which no other one
// touches: what was in flight when it died is still carried out.
const (
	killBlocks = 64
	killRounds = 6
)

func init() { tasks["write"] = writeTask }

// writeEvent is one event of a writer: block and generation, and whether it was
// acknowledged or is about to be sent. Events are written whole (PIPE_BUF).
type writeEvent struct {
	Block, Generation uint32
	Acked             bool
}

const eventSize = 9

func (r writeEvent) send(w io.Writer) error {
	var b [eventSize]byte
	binary.LittleEndian.PutUint32(b[:], r.Block)
	binary.LittleEndian.PutUint32(b[4:], r.Generation)
	if r.Acked {
		b[8] = 1
	}
	_, err := w.Write(b[:])
	return err
}

// writeTask writes its blocks, which begin at number Seed, over and over, until it
// is killed.
func writeTask(c childTask) (any, error) {
	d, err := passthru.Open(c.Node, &passthru.Config{Writable: true, Depth: 16, BufferSize: loadBlock})
	if err != nil {
		return nil, err
	}
	first := int(c.Seed)
	switch c.Mode {
	case "ioctl":
		return nil, writeDevice(d, first, 1)
	case "ring":
		return nil, writeDevice(d, first, 8)
	}
	return nil, writeQueue(d, iosetup.Path(c.Mode), first)
}

// writeDevice shares the blocks among goroutines. One alone goes by ioctl.
func writeDevice(d *passthru.Device, first, workers int) error {
	errs := make(chan error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			p := make([]byte, loadBlock)
			for n := uint32(0); ; n++ {
				block := w + workers*(int(n)%(killBlocks/workers))
				r := writeEvent{Block: uint32(block), Generation: n + 1}
				fillBlock(p, first+block, r.Generation)
				err := r.send(os.Stdout)
				if err == nil {
					_, err = d.WriteAt(p, int64(first+block)*loadBlock)
				}
				if err == nil {
					r.Acked = true
					err = r.send(os.Stdout)
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	return <-errs
}

// writeQueue keeps 16 writes in flight, none of them to a block that another one
// is for.
func writeQueue(d *passthru.Device, path iosetup.Path, first int) error {
	const depth = 16
	q, err := ioqueue.Open([]*passthru.Device{d}, ioqueue.Config{Path: path, Mode: iosetup.DefaultMode(), Depth: depth, BufferSize: loadBlock})
	if err != nil {
		return err
	}
	nlb := loadBlock / d.Layout().LBASize
	var sent [depth]writeEvent
	write := func(slot int) error {
		n := sent[slot].Generation // of this slot so far
		r := writeEvent{Block: uint32(slot) + depth*(n%(killBlocks/depth)), Generation: n + 1}
		sent[slot] = r
		if err := r.send(os.Stdout); err != nil {
			return err
		}
		fillBlock(q.Buffer(slot), first+int(r.Block), r.Generation)
		return q.Write(slot, uint64(first+int(r.Block))*uint64(nlb), nlb)
	}
	for slot := range depth {
		if err := write(slot); err != nil {
			return err
		}
	}
	var done [depth]uringcmd.Completion
	for {
		if err := q.Submit(1); err != nil {
			return err
		}
		for _, c := range done[:q.Take(done[:])] {
			if err := q.Err(c); err != nil {
				return err
			}
			r := sent[c.Slot]
			r.Acked = true
			if err := r.send(os.Stdout); err != nil {
				return err
			}
			if err := write(c.Slot); err != nil {
				return err
			}
		}
	}
}

func killDuringWrites(t *testing.T, g *Guest) (o Outcome) {
	node := g.Drive(t, "fast0").Generic
	ways := []string{"ring", "ioctl", "passthru", "block", "block-poll", "passthru-poll"}
	if strings.HasPrefix(g.Kernel, "6.1.") {
		ways = ways[:len(ways)-1] // its kernel would crash
		o.Note = "polled passthrough left out: this kernel crashes when a process dies with such commands in flight"
	}
	rng := rand.New(rand.NewPCG(6, 1))
	first := 1024
	for _, way := range ways {
		for range killRounds {
			o = o.Add(killWriter(t, node, way, first, time.Duration(rng.IntN(150))*time.Millisecond))
			first += killBlocks
		}
	}
	return o
}

// killWriter lets a writer work for a while, kills it, and looks at its blocks.
func killWriter(t *testing.T, node, way string, first int, after time.Duration) (o Outcome) {
	t.Helper()
	cmd := childTask{Name: "write", Node: node, Mode: way, Seed: uint64(first)}.command(t)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var held [killBlocks]holding
	in := bufio.NewReader(out)
	count := 0
	for {
		var b [eventSize]byte
		if _, err := io.ReadFull(in, b[:]); err != nil {
			require.ErrorIs(t, err, io.EOF, "a torn event")
			break
		}
		h, generation := &held[binary.LittleEndian.Uint32(b[:])], binary.LittleEndian.Uint32(b[4:])
		if b[8] == 1 {
			h.acked = generation
			o.OK++
		} else {
			h.sent = generation
			o.Issued++
		}
		if count++; count == 4*killBlocks {
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
	}
	_ = cmd.Wait()
	ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL, "%s: the writer ended by itself: %v %s", way, cmd.ProcessState, errs.String())
	o.Cancelled = o.Issued - o.OK // nobody was told how they ended

	d, err := passthru.Open(node, nil)
	require.NoError(t, err)
	p := make([]byte, loadBlock)
	for i, h := range held {
		_, err := d.ReadAt(p, int64(first+i)*loadBlock)
		require.NoError(t, err)
		require.NoError(t, judgeEnds(p, first+i, h), "%s, killed after %v", way, after)
	}
	require.NoError(t, d.Close())
	return o
}

// judgeOne says whether p is the acknowledged or the sent generation of a block.
func judgeEnds(p []byte, block int, h holding) error {
	if judgeBlock(p, block, holding{h.acked, h.acked}) == nil || judgeBlock(p, block, holding{h.sent, h.sent}) == nil {
		return nil
	}
	return fmt.Errorf("neither acknowledged nor sent: %w", judgeBlock(p, block, h))
}
