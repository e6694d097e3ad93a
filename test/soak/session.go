package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nvmepass/nvmepass/nvme"
)

type opKind int

const (
	opRead opKind = iota
	opWrite
	opCompare
	opZero
	opHint
	opFlush
)

var opNames = [...]string{"read", "write", "compare", "write zeroes", "deallocate", "flush"}

func (k opKind) String() string { return opNames[k] }

// op is one operation under way.
type op struct {
	kind  opKind
	slba  uint64
	n     uint32
	began time.Time

	write *write   // of those that change blocks
	start uint64   // of reads and compares, in the model
	sure  []*write // what a compare expects, block by block
	wrong bool     // a compare with data that differs
}

// session is what one goroutine does to one target by one path.
type session struct {
	e    *engine
	t    *target
	path pathID
	rng  *rand.Rand
	// whole judges blocks with their metadata, data those that come without.
	whole, data *judge
	// fragile: a command that fails here may take the kernel down, so that none
	// is sent that has to; see docs/design.md on 6.1.
	fragile bool
	// abandoned are writes that may still land.
	abandoned []*write
}

func (e *engine) newSession(t *target, path pathID, rng *rand.Rand) *session {
	s := &session{e: e, t: t, path: path, rng: rng, whole: newJudge(t.model, t.host, t.seed), fragile: path.polls() && !path.block() && !e.pollsAnything}
	s.data = s.whole
	if t.separate {
		s.data = newJudge(t.model, nvme.Layout{LBASize: t.host.LBASize}, t.seed)
	}
	return s
}

// hotBlocks at the start of a namespace are used more than the others, so that
// operations meet.
const hotBlocks = 256

// pick chooses an operation on at most the given number of blocks.
func (s *session) pick(kinds []opKind, most uint32) *op {
	o := &op{kind: kinds[s.rng.IntN(len(kinds))]}
	switch s.rng.IntN(10) {
	case 0, 1, 2, 3, 4:
		most = min(most, 8)
	case 5, 6, 7:
		most = min(most, 32)
	}
	o.n = 1 + s.rng.Uint32N(max(1, most))
	reach := s.t.blocks
	if s.rng.IntN(4) == 0 {
		reach = min(reach, hotBlocks)
	}
	for {
		o.slba = s.rng.Uint64N(reach)
		n := uint32(min(uint64(o.n), s.t.blocks-o.slba))
		if s.may(o.slba, n) {
			o.n = n
			return o
		}
	}
}

// may tells whether a command on some blocks may be sent.
func (s *session) may(slba uint64, n uint32) bool {
	return !s.fragile || !s.t.readErrors.overlaps(slba, n) && !s.t.writeErrors.overlaps(slba, n)
}

// kinds are the operations of a mix that the target takes.
func (s *session) kinds(mix ...opKind) (all []opKind) {
	for _, k := range mix {
		switch {
		case (k == opZero || k == opHint) && !s.t.bare:
			k = opWrite
		case k == opCompare && (s.t.pract() || s.fragile): // the controller strips nothing there; a difference is a failure
			k = opRead
		}
		all = append(all, k)
	}
	return all
}

// prepare begins an operation: it tells the model and fills the buffers of what
// sends data.
func (s *session) prepare(j *judge, o *op, data, meta []byte) error {
	s.e.tally.paths[s.path].issued.Add(1)
	o.began = time.Now()
	m := s.t.model
	if o.kind == opWrite {
		if o.write = s.beginWrite(o); o.write != nil {
			return j.fill(data, meta, o.write)
		}
		o.kind = opRead
	}
	switch o.kind {
	case opZero:
		o.write = m.beginWrite(o.slba, o.n, zeroed, s.path)
	case opHint:
		o.write = m.beginWrite(o.slba, o.n, hinted, s.path)
	case opRead:
		o.start = m.beginRead(o.slba, o.n)
		clear(data) // what is not transferred must not pass for what is there
		clear(meta)
	case opCompare:
		return s.prepareCompare(j, o, data, meta)
	}
	return nil
}

// beginWrite returns nil if the write has to wait for another one.
func (s *session) beginWrite(o *op) *write {
	if s.t.alone {
		return s.t.model.beginAlone(o.slba, o.n, stamped, s.path)
	}
	return s.t.model.beginWrite(o.slba, o.n, stamped, s.path)
}

// prepareCompare fills the buffers with what the blocks are sure to hold, or with
// something else. Where that is not known, the operation becomes a read.
func (s *session) prepareCompare(j *judge, o *op, data, meta []byte) error {
	unit, ms := int(j.layout.Unit()), int(j.layout.MetadataLen(1))
	o.start = s.t.model.beginRead(o.slba, o.n)
	for i := range int(o.n) {
		lba := o.slba + uint64(i)
		w := s.t.model.sure(lba)
		if w == nil {
			o.kind, o.sure = opRead, nil
			clear(data)
			clear(meta)
			return nil
		}
		o.sure = append(o.sure, w)
		if err := j.expect(w, lba); err != nil {
			return err
		}
		copy(data[i*unit:(i+1)*unit], j.data)
		copy(meta[i*ms:], j.meta)
	}
	if o.wrong = s.rng.IntN(4) == 0; o.wrong {
		data[s.rng.IntN(int(o.n)*unit)] ^= 1 << s.rng.IntN(8)
	}
	return nil
}

// done is how an operation ended.
type done struct {
	err  error
	data []byte // that was read, from skip bytes into the first block on
	skip int
	meta []byte // nil if it was not read
	// closing: its device was being closed.
	closing bool
}

// finish judges an operation and accounts for it.
func (s *session) finish(j *judge, o *op, d done) {
	p := &s.e.tally.paths[s.path]
	err := d.err
	if o.kind == opCompare && errors.Is(err, nvme.CompareFailure) {
		s.judgeCompare(o, false)
		p.ok.Add(1) // the drive has answered
		return
	}
	end := s.t.explain(err, o, s.path, d.closing)
	switch end {
	case succeeded:
		p.ok.Add(1)
	case cancelled:
		p.cancelled.Add(1)
		s.e.cancelled(err)
	default:
		p.failed.Add(1)
		s.e.failed(end, o, s, err)
	}
	switch {
	case o.write != nil:
		s.finishWrite(o, end, err)
	case o.kind == opFlush:
	case end != succeeded:
		s.t.model.endRead(o.slba, o.n, o.start, nil)
	case o.kind == opCompare:
		s.judgeCompare(o, true)
	default:
		s.judgeRead(j, o, d)
	}
}

func (s *session) finishWrite(o *op, end outcome, err error) {
	switch {
	case end == succeeded:
		s.t.model.acknowledge(o.write)
		s.e.tally.paths[s.path].written.Add(uint64(o.n))
		if o.kind == opWrite && s.t.writeErrors.overlaps(o.slba, o.n) {
			s.mismatch(o, finding{lba: s.t.writeErrors.first, expected: "a write fault", found: "the write was acknowledged"})
		}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errKilled):
		s.abandoned = append(s.abandoned, o.write)
	default:
		s.t.model.settle(o.write)
	}
}

func (s *session) judgeRead(j *judge, o *op, d done) {
	if s.t.readErrors.overlaps(o.slba, o.n) {
		s.mismatch(o, finding{lba: s.t.readErrors.first, expected: "an unrecovered read error", found: "the read succeeded"})
	}
	s.e.sabotageRead(s.t, o, &d)
	v, err := j.read(o.slba, o.n, o.start, d.data, d.skip, d.meta)
	if err != nil {
		s.e.odd(s.t, s.path, "judge "+o.kind.String(), err)
		return
	}
	p := &s.e.tally.paths[s.path]
	p.verified.Add(v.verified)
	p.mixed.Add(v.mixed)
	for _, f := range v.mismatches {
		s.mismatch(o, f)
	}
}

// judgeCompare holds the drive's answer, equal or not, against the model.
func (s *session) judgeCompare(o *op, equal bool) {
	unsure := false // another content was legal meanwhile
	var wrong *finding
	for i, w := range o.sure {
		lba := o.slba + uint64(i)
		legal, _ := s.t.model.legal(nil, lba, o.start)
		holds := false
		for _, x := range legal {
			holds = holds || x == w
			unsure = unsure || x != w
		}
		if equal && !holds {
			wrong = &finding{lba: lba, expected: "a difference from " + w.text(), found: "the drive says they are equal"}
		}
	}
	switch {
	case equal && o.wrong:
		wrong = &finding{lba: o.slba, expected: "a compare failure: one bit differs", found: "the drive says they are equal"}
	case !equal && !o.wrong && !unsure:
		wrong = &finding{lba: o.slba, expected: "no difference", found: "a compare failure"}
	}
	var found []*write
	if equal && wrong == nil {
		found = o.sure
		s.e.tally.paths[s.path].verified.Add(uint64(o.n))
	}
	s.t.model.endRead(o.slba, o.n, o.start, found)
	if wrong != nil {
		s.mismatch(o, *wrong)
	}
}

func (s *session) mismatch(o *op, f finding) {
	s.e.say(s.e.tally.mismatch(Mismatch{
		Drive: s.t.name, Path: s.path.String(), Op: fmt.Sprintf("%s of %d blocks from %d", o.kind, o.n, o.slba),
		LBA: f.lba, Expected: f.expected, Found: f.found,
	}))
}

// settle ends the writes that were given up: what sent them is gone.
func (s *session) settle() {
	for _, w := range s.abandoned {
		s.t.model.settle(w)
	}
	s.abandoned = nil
}
