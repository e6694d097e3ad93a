package verify

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// TestFormat fixes the format of a sector: what was written once has to be
// verified by every later version.
func TestFormat(t *testing.T) {
	b := make([]byte, 1024)
	FillBlock(b, 0x0102030405060708, 0x1112131415161718, 0x21222324)
	require.Equal(t, []byte("nvmepass\x08\x07\x06\x05\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11\x24\x23\x22\x21\x01\x00\x01\x00"), b[512:544])
	s, marked, ok := read(b[512:])
	require.True(t, marked && ok)
	require.Equal(t, Stamp{LBA: 0x0102030405060708, Seed: 0x1112131415161718, Generation: 0x21222324, Sector: 1}, s)
	require.EqualValues(t, 0x9663d03c, nvme.CRC32C(0, b[:508]), "fill")
}

// TestStampsDiffer: no two stamps have the same fill, nor metadata.
func TestStampsDiffer(t *testing.T) {
	seen := map[uint64]Stamp{}
	for lba := range uint64(50) {
		for seed := range uint64(10) {
			for generation := range uint32(10) {
				for _, sector := range []uint16{0, 1, 7, 0xffff} {
					s := Stamp{lba, seed, generation, sector}
					x := s.start()
					if old, ok := seen[x]; ok {
						require.Fail(t, "two stamps are alike", "%v %v", s, old)
					}
					seen[x] = s
				}
			}
		}
	}
}

// TestJudge: what a block is instead.
func TestJudge(t *testing.T) {
	block := func(lba, seed uint64, generation uint32) []byte {
		b := make([]byte, 2048)
		FillBlock(b, lba, seed, generation)
		return b
	}
	want := block(10, 1, 5)
	flip := func(at int) []byte {
		b := bytes.Clone(want)
		b[at] ^= 1
		return b
	}
	for _, tt := range []struct {
		name, kind string
		got        []byte
		says       string
	}{
		{"other LBA", Misdirected, block(11, 1, 5), "LBA 10 (0xa): misdirected: expected generation 5 of seed 1; found the stamp of LBA 11 (0xb); "},
		{"other LBA and generation", Misdirected, block(11, 1, 4), "found the stamp of LBA 11 (0xb), generation 4; "},
		{"earlier", Lost, block(10, 1, 4), "lost write: expected generation 5 of seed 1; found generation 4; "},
		{"later", Newer, block(10, 1, 6), "found generation 6"},
		{"seed", OtherSeed, block(10, 2, 5), "found seed 2"},
		{"zeros", Zeros, make([]byte, 2048), "found zeros"},
		{"ones", Ones, bytes.Repeat([]byte{0xff}, 2048), "found bytes 0xff"},
		{"foreign", Foreign, bytes.Repeat([]byte{1}, 2048), "found data that verify did not write"},
		{"bit in fill", Damaged, flip(700), "found in bytes 0-511 what was expected, in bytes 512-1023 a wrong checksum, in bytes 1024-2047 what was expected; 1 bytes differ, the first is byte 700: "},
		{"bit in LBA", Damaged, flip(8), "in bytes 0-511 a wrong checksum, the stamp of LBA 11 (0xb), in bytes 512-2047 what was expected"},
		{"bit in magic", Torn, flip(0), "in bytes 0-511 data that verify did not write"},
		{"torn", Torn, append(block(10, 1, 5)[:512], block(10, 1, 4)[512:]...), "torn: expected generation 5 of seed 1; found in bytes 0-511 what was expected, in bytes 512-2047 generation 4; "},
		{"torn in three", Torn, slices.Concat(block(10, 1, 5)[:512], make([]byte, 512), block(12, 1, 5)[1024:]), "in bytes 512-1023 zeros, in bytes 1024-2047 the stamp of LBA 12 (0xc)"},
		{"shifted", Misdirected, append(want[512:], make([]byte, 512)...), ""},
	} {
		m := judge(tt.got, want, Stamp{LBA: 10, Seed: 1, Generation: 5})
		if tt.name == "shifted" {
			require.Equal(t, Torn, m.Kind)
			require.Contains(t, m.Text(), "in bytes 0-1535 its sector 1")
			continue
		}
		require.Equal(t, tt.kind, m.Kind, tt.name)
		require.Contains(t, m.Text(), tt.says, tt.name)
		require.Positive(t, m.Bytes)
	}
	require.Nil(t, judge(bytes.Clone(want), want, Stamp{LBA: 10, Seed: 1, Generation: 5}))
}

// TestOrderVisitsAllOnce, whatever the number and the seed.
func TestOrderVisitsAllOnce(t *testing.T) {
	for n := uint64(1); n < 200; n++ {
		for seed := range uint64(5) {
			o := newOrder(n, seed > 0, seed)
			seen := map[uint64]bool{}
			for v, ok := o.take(); ok; v, ok = o.take() {
				require.Less(t, v, n)
				require.False(t, seen[v], "n=%d seed=%d", n, seed)
				seen[v] = true
			}
			require.Len(t, seen, int(n))
		}
	}
	a, b := newOrder(1000, true, 1), newOrder(1000, true, 2)
	x, _ := a.take()
	y, _ := b.take()
	require.NotEqual(t, x, y)
}

var layouts = []nvme.Layout{
	{LBASize: 512}, {LBASize: 4096}, {LBASize: 512, MetadataSize: 64}, {LBASize: 4096, MetadataSize: 64, Extended: true},
	{LBASize: 512, MetadataSize: 64, PI: nvme.PIType1}, {LBASize: 512, MetadataSize: 16, Extended: true, PI: nvme.PIType1, PIFirst: true},
	{LBASize: 4096, MetadataSize: 64, PI: nvme.PIType2}, {LBASize: 4096, MetadataSize: 64, Extended: true, PI: nvme.PIType3, PIFormat: nvme.Guard64},
}

// fake is a drive in memory with one slot per command in flight, whose reads and
// writes can be spoilt.
type fake struct {
	host       nvme.Layout
	media      map[uint64][]byte // data and metadata by LBA
	data, meta [][]byte
	waiting    []func() uringcmd.Completion
	done       []uringcmd.Completion
	errs       map[int]error
	place      func(lba uint64, write bool) uint64 // where a block goes
	fail       func(slba uint64, write bool) error
	submits    int
	onSubmit   func()
	closed     bool
}

func newFake(host nvme.Layout, depth int, nlb uint32) *fake {
	q := &fake{host: host, media: map[uint64][]byte{}, errs: map[int]error{}}
	for range depth {
		q.data, q.meta = append(q.data, make([]byte, host.DataLen(nlb))), append(q.meta, make([]byte, host.MetadataLen(nlb)))
	}
	return q
}

func (q *fake) Buffer(slot int) []byte   { return q.data[slot] }
func (q *fake) Metadata(slot int) []byte { return q.meta[slot] }
func (q *fake) Close() error             { q.closed = true; return nil }

func (q *fake) Read(slot int, slba uint64, nlb uint32) error  { return q.io(slot, slba, nlb, false) }
func (q *fake) Write(slot int, slba uint64, nlb uint32) error { return q.io(slot, slba, nlb, true) }

func (q *fake) io(slot int, slba uint64, nlb uint32, write bool) error {
	q.waiting = append(q.waiting, func() uringcmd.Completion {
		delete(q.errs, slot)
		if q.fail != nil {
			if err := q.fail(slba, write); err != nil {
				q.errs[slot] = err
				return uringcmd.Completion{Slot: slot, Res: 1}
			}
		}
		image := NewImage(q.host, 0, true)
		for i := range int(nlb) {
			lba := slba + uint64(i)
			if q.place != nil {
				lba = q.place(lba, write)
			}
			block, md := image.At(i, q.data[slot], q.meta[slot])
			if write {
				q.media[lba] = slices.Concat(block, md)
			} else if b := q.media[lba]; b != nil {
				copy(block, b)
				copy(md, b[len(block):])
			}
		}
		return uringcmd.Completion{Slot: slot}
	})
	return nil
}

func (q *fake) Submit(int) error {
	q.submits++
	if q.onSubmit != nil {
		q.onSubmit()
	}
	slices.Reverse(q.waiting) // completions come in any order
	for _, f := range q.waiting {
		q.done = append(q.done, f())
	}
	q.waiting = q.waiting[:0]
	return nil
}

func (q *fake) Take(dst []uringcmd.Completion) int {
	n := copy(dst, q.done)
	q.done = q.done[n:]
	return n
}

func (q *fake) Err(c uringcmd.Completion) error { return q.errs[c.Slot] }

// runFake runs on the fake drive.
func runFake(ctx context.Context, t *testing.T, q *fake, cfg Config, blocks uint64, nlb uint32) *Result {
	t.Helper()
	r := fakeRunner(q, cfg, blocks, nlb)
	require.NoError(t, r.run(ctx))
	return r.res
}

func fakeRunner(q *fake, cfg Config, blocks uint64, nlb uint32) *runner {
	p := plan{host: q.host, first: 100, blocks: blocks, nlb: nlb, chunks: (blocks + uint64(nlb) - 1) / uint64(nlb)}
	return &runner{
		cfg: &cfg, plan: p, q: q, start: time.Now(), slots: make([]span, cfg.QD), flush: func() error { return nil }, image: NewImage(q.host, cfg.Seed, cfg.Metadata),
		res: &Result{Config: cfg, Device: "/dev/ng0n1", Layout: q.host.String(), FirstLBA: p.first, Blocks: blocks, MetadataCompared: true},
	}
}

// TestRunVerifiesEveryLayout, in any order and by commands of other sizes.
func TestRunVerifiesEveryLayout(t *testing.T) {
	for _, l := range layouts {
		cfg := DefaultConfig()
		cfg.Do, cfg.QD, cfg.Random, cfg.Loops = DoBoth, 4, true, 2
		q := newFake(l, 4, 8)
		r := runFake(t.Context(), t, q, cfg, 61, 8)
		require.Equal(t, []uint64{122, 122, 0, 0}, []uint64{r.Written, r.Verified, r.Mismatched, r.Failed}, l)
		cfg = DefaultConfig()
		cfg.QD, cfg.Generation = 4, 2
		other := newFake(l, 4, 3)
		other.media = q.media
		r = runFake(t.Context(), t, other, cfg, 61, 3)
		require.Equal(t, []uint64{0, 61, 0}, []uint64{r.Written, r.Verified, r.Mismatched}, l)

		// Any byte of data or metadata that changes shows, in that block alone.
		for _, at := range []int{0, 31, 511, int(l.LBASize) - 1, int(l.LBASize), int(l.LBASize) + int(l.MetadataSize) - 1} {
			if at >= int(l.LBASize)+int(l.MetadataSize) {
				continue
			}
			q.media[133][at] ^= 0x40
			r = runFake(t.Context(), t, other, cfg, 61, 3)
			require.Len(t, r.Mismatches, 1, "%v byte %d", l, at)
			require.EqualValues(t, 133, r.Mismatches[0].LBA)
			require.Contains(t, r.Mismatches[0].Text(), "LBA 133 (0x85): ")
			if at >= int(l.LBASize) {
				require.Contains(t, []string{Metadata, Protection}, r.Mismatches[0].Kind)
			}
			q.media[133][at] ^= 0x40
		}
	}
}

// TestRunFindsFaults that a drive makes: a write to another place, a lost one,
// and commands that fail.
func TestRunFindsFaults(t *testing.T) {
	l := nvme.Layout{LBASize: 512}
	cfg := DefaultConfig()
	cfg.Do, cfg.QD, cfg.Loops = DoBoth, 2, 2
	q := newFake(l, 2, 4)
	writes := 0
	q.place = func(lba uint64, write bool) uint64 {
		if write {
			writes++
		}
		switch {
		case write && lba == 105:
			return 106 // and 106 itself comes after
		case write && lba == 110 && writes > 32:
			return 1 << 20
		}
		return lba
	}
	r := runFake(t.Context(), t, q, cfg, 32, 4)
	require.EqualValues(t, 3, r.Mismatched, "105 in both loops, 110 in the second")
	require.Equal(t, []string{Zeros, Zeros, Lost}, []string{r.Mismatches[0].Kind, r.Mismatches[1].Kind, r.Mismatches[2].Kind})

	cfg = DefaultConfig()
	cfg.QD, cfg.Generation, cfg.MaxReports = 2, 2, 2
	q.place = nil
	q.fail = func(slba uint64, _ bool) error {
		if slba >= 120 {
			return errors.New("unrecovered")
		}
		return nil
	}
	r = runFake(t.Context(), t, q, cfg, 32, 4)
	require.Equal(t, []uint64{3, 12, 20, 2}, []uint64{r.Failed, r.FailedBlocks, r.Verified, r.Mismatched})
	require.Len(t, r.Failures, 2)
	var b strings.Builder
	require.NoError(t, Text(&b, r))
	require.Equal(t, `/dev/ng0n1: layout 512, LBA 100-131, seed 1, generation 2, by passthru
verified   20 blocks, data and metadata
mismatched 2 blocks
`, b.String()[:strings.Index(b.String(), "  LBA")])
	require.Contains(t, b.String(), "failed     3 commands, 12 blocks\n  read of LBA 120-123: unrecovered\n")
	require.Contains(t, b.String(), "  and 1 more commands (--max-reports)\n")
}

// TestRunStops: when the context is done, what is in flight is waited for and the
// rest left alone.
func TestRunStops(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Do, cfg.QD = DoBoth, 2
	ctx, stop := context.WithCancel(t.Context())
	q := newFake(nvme.Layout{LBASize: 512}, 2, 1)
	q.onSubmit = func() {
		if q.submits == 5 {
			stop()
		}
	}
	r := runFake(ctx, t, q, cfg, 100, 1)
	require.True(t, r.Interrupted)
	require.EqualValues(t, 10, r.Written)
	require.Empty(t, q.waiting)
	var b strings.Builder
	require.NoError(t, Text(&b, r))
	require.Contains(t, b.String(), "interrupted")
}

// TestRunEndsWithTheDrive: when it is gone, nothing more is sent, in whatever
// loop, and what is in flight is waited for.
func TestRunEndsWithTheDrive(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.ENODEV, syscall.ENXIO} {
		cfg := DefaultConfig()
		cfg.Do, cfg.QD, cfg.Loops = DoRead, 4, 1000
		q := newFake(nvme.Layout{LBASize: 512}, 4, 1)
		q.fail = func(slba uint64, _ bool) error {
			if slba >= 150 {
				return &passthru.KernelError{Op: "read", Errno: errno}
			}
			return nil
		}
		r := fakeRunner(q, cfg, 100, 1)
		require.ErrorIs(t, r.run(t.Context()), errno)
		require.LessOrEqual(t, r.res.Failed, uint64(4))
		require.EqualValues(t, 52, r.res.Verified+r.res.Failed, "13 rounds of four")
		require.Empty(t, q.waiting)
	}
}

// TestConfigIsChecked, without and with a namespace.
func TestConfigIsChecked(t *testing.T) {
	for says, change := range map[string]func(c *Config){
		`--do "x"`:                        func(c *Config) { c.Do = "x" },
		`--path "x"`:                      func(c *Config) { c.Path = "x" },
		"--qd 0":                          func(c *Config) { c.QD = 0 },
		"--loops 0":                       func(c *Config) { c.Loops = 0 },
		"--max-reports -1":                func(c *Config) { c.MaxReports = -1 },
		"--generation 4294967295":         func(c *Config) { c.Do, c.Generation, c.Loops = DoWrite, 1<<32-1, 2 },
		"--qd 2: the ioctl carries":       func(c *Config) { c.Path, c.QD = PathIoctl, 2 },
		"--offset 100: is within":         func(c *Config) { c.Offset = 100 },
		"--offset 1048576: the names":     func(c *Config) { c.Offset = 1 << 20 },
		"--size 100: is no whole":         func(c *Config) { c.Size = 100 },
		"--size 1048576: from 512 on":     func(c *Config) { c.Offset, c.Size = 512, 1<<20 },
		"--bs 1000: block size 1000 is ":  func(c *Config) { c.BlockSize = 1000 },
		"--bs 8388608: one command of /d": func(c *Config) { c.BlockSize = 8 << 20 },
	} {
		d, err := passthru.OpenNull(passthru.NullConfig{Blocks: 2048, Config: passthru.Config{AllowIoctl: true}})
		require.NoError(t, err)
		cfg := DefaultConfig()
		change(&cfg)
		err = cfg.Validate()
		if err == nil {
			err = cfg.Check(d)
		}
		require.ErrorAs(t, err, new(*badflag.Error), says)
		require.ErrorContains(t, err, says)
		require.NoError(t, d.Close())
	}
}
