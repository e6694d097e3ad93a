package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nvmepass/nvmepass/internal/blockio"
	"github.com/nvmepass/nvmepass/internal/lab"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// target is a namespace under test.
type target struct {
	name   string // such as "soak512 ng0n1 (512)"
	path   string // of its generic node
	block  string // of its block node, "" if the block paths cannot be used
	drive  *drive
	nsid   uint32
	layout nvme.Layout
	host   nvme.Layout // of a block in a passthrough buffer
	blocks uint64      // under test, from LBA 0
	most   uint32      // blocks that one command moves
	// unsplit is the most blocks that the block path polls for.
	unsplit uint32
	poll    bool
	// separate metadata is reached by whole-block methods and queues only.
	separate bool
	// bare blocks have no metadata at all, so that zeros written by a command
	// without data are all there is to find.
	bare bool
	// alone: writes to the same block must not meet. QEMU writes a block's data
	// and its metadata one after the other, so that those of two commands may end
	// up side by side.
	alone bool
	seed  uint64
	model *model
	// readErrors and writeErrors are blocks that fail each access.
	readErrors, writeErrors blockRange
}

// drive is a controller, which its namespaces share.
type drive struct {
	serial string
	node   string // nvme0
	// onePoller is held by who polls, and by who resets, where the kernel allows
	// only one of them.
	onePoller sync.Mutex
	resets    intervals
}

type blockRange struct{ first, end uint64 }

func (r blockRange) overlaps(slba uint64, n uint32) bool {
	return r.first < r.end && slba < r.end && slba+uint64(n) > r.first
}

// widened has so many blocks more on each side.
func (r blockRange) widened(by uint64) blockRange {
	if r.first >= r.end {
		return r
	}
	return blockRange{r.first - min(r.first, by), r.end + by}
}

// maxMerged is the longest request in bytes that the block layer makes of
// neighbours that are sent together (MDTS of the lab's drives): an error of one of
// them is an error of all.
const maxMerged = 512 << 10

// maxCommand bounds the data of one operation in bytes.
const maxCommand = 128 << 10

// maxMetadata bounds the metadata of one operation in bytes: QEMU 7.2 loses that
// of commands with more than 512 which are no multiple of 512.
const maxMetadata = 512

// learnTarget opens a namespace and finds out what it is. At most span bytes of
// it are used, 0 for all.
func learnTarget(path string, span, seed uint64, drives map[string]*drive) (*target, error) {
	d, err := passthru.Open(path, nil)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if d.CommandSet() != nvme.SetNVM {
		return nil, fmt.Errorf("%s has command set %s: the soak needs %s", path, d.CommandSet(), nvme.SetNVM)
	}
	l := d.Layout()
	t := &target{
		path: d.Path(), nsid: d.NSID(), layout: l, host: d.DataLayout(), blocks: d.Limits().Blocks, most: d.Limits().MaxBlocks, poll: d.Poll().Check() == nil,
		seed: seed<<8 | uint64(d.NSID()), separate: d.DataLayout().MetadataLen(1) > 0, bare: l.MetadataSize == 0,
	}
	if span != 0 {
		t.blocks = min(t.blocks, max(1, span/uint64(l.LBASize)))
	}
	t.most = min(t.most, maxCommand/l.LBASize, uint32(t.blocks))
	if ms := uint32(l.MetadataSize); ms != 0 {
		t.most = max(1, min(t.most, maxMetadata/ms))
	}
	// Without protection information the block layer knows no metadata.
	if l.MetadataSize == 0 || l.PI != nvme.PINone && !l.Extended {
		t.block = d.BlockPath()
		t.unsplit = min(t.most, uint32(blockio.Unsplit(d.Limits())/uint64(l.LBASize)))
	}
	t.model = newModel(t.blocks)
	serial := strings.TrimSpace(d.Controller().SN)
	node, _, _ := strings.Cut(strings.TrimPrefix(t.path, "/dev/ng"), "n")
	if drives[serial] == nil {
		drives[serial] = &drive{serial: serial, node: "nvme" + node}
	}
	t.drive = drives[serial]
	t.name = fmt.Sprintf("%s %s (%s)", serial, strings.TrimPrefix(t.path, "/dev/"), l)
	return t, nil
}

// expectErrors takes over which sectors of a lab drive fail.
func (t *target) expectErrors(d *lab.Drive) {
	blocks := func(s lab.ErrorSectors) blockRange {
		per := int64(t.host.LBASize) / 512
		if s.Count == 0 {
			return blockRange{}
		}
		return blockRange{uint64(s.First / per), uint64((s.First+int64(s.Count)-1)/per) + 1}
	}
	t.readErrors, t.writeErrors = blocks(d.ReadErrors), blocks(d.WriteErrors)
}

// pract tells whether the controller makes and strips protection information.
func (t *target) pract() bool { return t.layout.PI != nvme.PINone && t.host.PI == nvme.PINone }

// can tells whether a path leads to the target.
func (t *target) can(p pathID) bool {
	return (!p.block() || t.block != "") && (!p.polls() || t.poll) && (p != byBlockPoll || t.unsplit > 0)
}

// intervals remembers when something went on, as far as that matters for what is
// still under way.
type intervals struct {
	mu    sync.Mutex
	open  int
	ended time.Time
}

func (i *intervals) begin() {
	i.mu.Lock()
	i.open++
	i.mu.Unlock()
}

func (i *intervals) end() {
	i.mu.Lock()
	i.open--
	i.ended = time.Now()
	i.mu.Unlock()
}

// since tells whether it went on at any time from then to now.
func (i *intervals) since(then time.Time) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.open > 0 || i.ended.After(then)
}

// outcome of an operation.
type outcome int

const (
	succeeded outcome = iota
	failed            // by an injected error
	cancelled         // by its context, a reset, or the end of its device
	odd               // by nothing that was done to it
)

// Ends of operations beside those that the library reports.
var (
	// errKilled: the process that sent it was killed.
	errKilled = errors.New("the process was killed")
	// errLost: its ring failed.
	errLost = errors.New("the ring failed before its completion came")
)

// explain says how an operation ended, by its error. closing tells whether its
// device was being closed.
func (t *target) explain(err error, o *op, p pathID, closing bool) outcome {
	var status *nvme.StatusError
	media := errors.As(err, &status) && (errors.Is(err, nvme.UnrecoveredReadError) || errors.Is(err, nvme.WriteFault)) ||
		errors.Is(err, syscall.ENODATA) || errors.Is(err, syscall.EIO) // the block layer's names for them
	media = media || o.kind == opCompare && errors.Is(err, nvme.InternalError) // QEMU's name for a read error in it
	bad := t.readErrors
	if o.kind == opWrite {
		bad = t.writeErrors
	}
	if p.block() {
		bad = bad.widened(maxMerged / uint64(t.layout.LBASize))
	}
	switch {
	case err == nil:
		return succeeded
	case media && bad.overlaps(o.slba, o.n):
		return failed
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errKilled):
		return cancelled
	case errors.Is(err, os.ErrClosed) && closing:
		return cancelled
	case errors.Is(err, passthru.ErrCancelled) && t.drive.resets.since(o.began):
		return cancelled
	case t.alone && errors.Is(err, syscall.EILSEQ) && o.kind == opRead && t.model.racing(o.slba, o.n, o.start):
		return failed // data and protection information of two moments
	case errors.Is(err, syscall.EIO) && t.drive.resets.since(o.began): // the block layer retries a few times only
		return failed
	}
	return odd
}
