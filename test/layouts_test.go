package test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/lab"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// metadataSizes of the layouts that are tested, in bytes.
var metadataSizes = []uint16{0, 8, 16, 64}

// layouts are all that a drive can have: block size, metadata, its place,
// protection type, guard. Those that do not fit each other are in refused.
func layouts() (all, refused []nvme.Layout) {
	for _, lba := range []uint32{512, 4096} {
		for _, ms := range metadataSizes {
			for _, extended := range []bool{false, true} {
				for pi := nvme.PINone; pi <= nvme.PIType3; pi++ {
					for _, guard := range []nvme.PIFormat{nvme.Guard16, nvme.Guard64} {
						l := nvme.Layout{LBASize: lba, MetadataSize: ms, Extended: extended, PI: pi, PIFormat: guard}
						switch {
						case ms == 0 && extended, pi == nvme.PINone && guard != nvme.Guard16:
							// There is nothing to place, or to guard.
						case uint32(ms) < l.PISize():
							refused = append(refused, l)
						default:
							all = append(all, l)
						}
					}
				}
			}
		}
		for _, extended := range []bool{false, true} {
			for _, ms := range []uint16{16, 64} {
				all = append(all, nvme.Layout{LBASize: lba, MetadataSize: ms, Extended: extended, PI: nvme.PIType1, PIFirst: true})
			}
			all = append(all, nvme.Layout{LBASize: lba, MetadataSize: 64, Extended: extended, PI: nvme.PIType1, PIFormat: nvme.Guard64, PIFirst: true})
		}
	}
	return all, refused
}

// TestB49LayoutsCount keeps the list from shrinking unseen.
func TestB49LayoutsCount(t *testing.T) {
	all, refused := layouts()
	// For each block size: none; 8 bytes: 2 places x 4 types; 16 and 64 bytes:
	// 2 places x (none + 3 types x 2 guards); 6 with the tuple first.
	require.Len(t, all, 2*(1+2*4+2*2*7+6))
	// For each block size: 3 types x 2 guards without metadata, 3 types with
	// the long guard in 2 places of 8 bytes.
	require.Len(t, refused, 2*(3*2+3*2))
}

// TestB49LayoutsRefused: what does not fit is refused by the library before any
// command, with the layout in the message, and no drive can be made with it.
func TestB49LayoutsRefused(t *testing.T) {
	_, refused := layouts()
	for _, l := range refused {
		_, err := nvme.NewRead(1, l, 0, 1, nvme.IOOptions{})
		require.ErrorContains(t, err, l.String())
		require.ErrorContains(t, err, fmt.Sprintf("%d bytes of metadata do not hold the %d-byte protection tuple", l.MetadataSize, l.PISize()))
		_, err = lab.ParseDrive(fmt.Sprintf("lba=%d,ms=%d,pi=%d,pif=%d", l.LBASize, l.MetadataSize, l.PI, l.PIFormat))
		require.ErrorIs(t, err, lab.ErrConfig, "%v", l)
	}
}

// drivesByLayout holds the nodes of all drives without special behaviour; there
// are too many to open them all for each test.
var drivesByLayout struct {
	once  sync.Once
	nodes map[nvme.Layout]string
}

func findLayouts(t *testing.T) {
	t.Helper()
	drivesByLayout.nodes = map[nvme.Layout]string{}
	for _, path := range nodes(t, os.Getenv(envDevice)) {
		d, err := passthru.Open(path, nil)
		require.NoError(t, err)
		if d.CommandSet() == nvme.SetNVM && (want{ms: -1}).suits(d) {
			drivesByLayout.nodes[d.Layout()] = path
		}
		require.NoError(t, d.Close())
	}
}

// layoutDevice opens the drive of a layout, to be written to, or skips.
func layoutDevice(t *testing.T, l nvme.Layout) *passthru.Device {
	t.Helper()
	if os.Getenv(envDevice) == "" || os.Getenv(envDestructive) != "1" {
		t.Skipf("no NVMe device to overwrite: set %s and %s=1, or use make test for the lab", envDevice, envDestructive)
	}
	drivesByLayout.once.Do(func() { findLayouts(t) })
	path, ok := drivesByLayout.nodes[l]
	if !ok {
		t.Skipf("needs a drive of layout %v", l)
	}
	d, err := passthru.Open(path, &passthru.Config{Writable: true, Depth: 4})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	require.Equal(t, l, d.Layout())
	return d
}

// buffers are random data and metadata for a number of blocks.
func buffers(rng *rand.Rand, l nvme.Layout, blocks uint32) (data, meta []byte) {
	data, meta = make([]byte, l.DataLen(blocks)), make([]byte, l.MetadataLen(blocks))
	for _, b := range [][]byte{data, meta} {
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
	}
	return data, meta
}

// blockCounts keep metadata to at most 512 bytes or a multiple of that: QEMU
// 7.2 loses other metadata.
var blockCounts = []uint32{1, 3, 16}

// metadataAt is the metadata of block i.
func metadataAt(l nvme.Layout, data, meta []byte, i int) []byte {
	ms := int(l.MetadataSize)
	if l.Extended {
		return data[i*int(l.Unit()):][l.LBASize:][:ms]
	}
	return meta[i*ms:][:ms]
}

// tupleAt is the protection tuple of block i.
func tupleAt(l nvme.Layout, data, meta []byte, i int) []byte {
	m := metadataAt(l, data, meta, i)
	if l.PIFirst {
		return m[:l.PISize()]
	}
	return m[len(m)-int(l.PISize()):]
}

// TestB49Layouts: data and metadata come back in every layout, by blocks and by
// bytes, and the drive compares both.
func TestB49Layouts(t *testing.T) {
	all, _ := layouts()
	ctx := context.Background()
	for _, l := range all {
		if l.PI != nvme.PINone {
			continue
		}
		t.Run(l.String(), func(t *testing.T) {
			d := layoutDevice(t, l)
			rng := rand.New(rand.NewPCG(uint64(l.LBASize), uint64(l.MetadataSize)))
			for _, n := range blockCounts {
				slba := 33 + rng.Uint64N(100)
				data, meta := buffers(rng, l, n)
				require.NoError(t, d.WriteBlocks(ctx, slba, data, meta, nvme.IOOptions{}))
				gotData, gotMeta := buffers(rng, l, n)
				require.NoError(t, d.ReadBlocks(ctx, slba, gotData, gotMeta, nvme.IOOptions{}))
				require.True(t, bytes.Equal(data, gotData), "%d blocks of data", n)
				require.True(t, bytes.Equal(meta, gotMeta), "%d blocks of metadata", n)

				require.NoError(t, d.CompareBlocks(ctx, slba, data, meta, nvme.IOOptions{}))
				for _, spot := range spots(l, data, meta, n) {
					*spot ^= 1
					err := d.CompareBlocks(ctx, slba, data, meta, nvme.IOOptions{})
					require.ErrorIs(t, err, nvme.CompareFailure)
					*spot ^= 1
				}
				require.NoError(t, d.ReadBlocks(ctx, slba, gotData, gotMeta, nvme.IOOptions{}))
				require.True(t, bytes.Equal(data, gotData) && bytes.Equal(meta, gotMeta), "compare changed nothing")

				unit := int64(d.DataLayout().Unit())
				_, err := d.WriteAt(data, int64(slba)*unit)
				require.NoError(t, err)
				clear(gotData)
				_, err = d.ReadAt(gotData, int64(slba)*unit)
				require.NoError(t, err)
				require.True(t, bytes.Equal(data, gotData), "%d blocks by bytes", n)
			}
			for _, bad := range [][2]int{{int(l.Unit()) + 1, int(l.MetadataLen(1))}, {int(l.Unit()), int(l.MetadataLen(1)) + 1}} {
				err := d.WriteBlocks(ctx, 0, make([]byte, bad[0]), make([]byte, bad[1]), nvme.IOOptions{})
				require.ErrorContains(t, err, l.String())
			}
			err := d.ReadBlocks(ctx, 0, make([]byte, l.Unit()), make([]byte, l.MetadataLen(1)), nvme.IOOptions{PRACT: true})
			require.ErrorContains(t, err, "("+l.String()+") has no protection information")
		})
	}
}

// spots are bytes whose change a compare must notice: the last of the data and
// the last of the metadata.
func spots(l nvme.Layout, data, meta []byte, n uint32) []*byte {
	s := []*byte{&data[int(n-1)*int(l.Unit())+int(l.LBASize)-1]}
	if l.MetadataSize > 0 {
		m := metadataAt(l, data, meta, int(n-1))
		s = append(s, &m[len(m)-1])
	}
	return s
}

// protection is what the tests write and expect.
type protection struct {
	l     nvme.Layout
	check nvme.PRCheck
	app   uint16
	ref   uint64 // of the first block; types 2 and 3
}

func newProtection(l nvme.Layout) protection {
	p := protection{l: l, check: nvme.CheckAll, app: 0x5a17, ref: 0xabcd1234}
	if l.PIFormat == nvme.Guard64 {
		p.ref = 0x9abcdef01234
	}
	switch l.PI {
	case nvme.PIType1:
		p.ref = 0
	case nvme.PIType3:
		p.check = nvme.CheckGuard | nvme.CheckApp
	}
	return p
}

func (p protection) options(pract bool, check nvme.PRCheck) nvme.IOOptions {
	return nvme.IOOptions{PRACT: pract, PRCHK: check, RefTag: p.ref, AppTag: p.app, AppMask: 0xffff}
}

func (p protection) generate(t *testing.T, data, meta []byte, slba uint64) {
	t.Helper()
	require.NoError(t, p.l.GeneratePI(data, meta, slba, nvme.PI{App: p.app, Ref: p.ref}))
}

func (p protection) verify(data, meta []byte, slba uint64) error {
	return p.l.VerifyPI(data, meta, slba, nvme.PICheck{Check: p.check, Want: nvme.PI{App: p.app, Ref: p.ref}, AppMask: 0xffff})
}

// TestB51ProtectionInformation in every layout: made by the controller and
// checked by the host, made by the host and checked by the controller, and
// damaged in each of its parts.
func TestB51ProtectionInformation(t *testing.T) {
	all, _ := layouts()
	for _, l := range all {
		if l.PI == nvme.PINone {
			continue
		}
		t.Run(l.String(), func(t *testing.T) {
			d := layoutDevice(t, l)
			p := newProtection(l)
			rng := rand.New(rand.NewPCG(uint64(l.LBASize), uint64(l.MetadataSize)))
			for _, n := range blockCounts {
				slba := 33 + rng.Uint64N(100)
				madeByController(t, d, p, rng, slba, n)
				madeByHost(t, d, p, rng, slba, n)
				damaged(t, d, p, rng, slba, n)
			}
			copied(t, d, p, rng)
			zeroesAreProtected(t, d, p)
		})
	}
}

func madeByController(t *testing.T, d *passthru.Device, p protection, rng *rand.Rand, slba uint64, n uint32) {
	t.Helper()
	ctx, host := context.Background(), d.BlockLayout(true)
	data, meta := buffers(rng, host, n)
	require.NoError(t, d.WriteBlocks(ctx, slba, data, meta, p.options(true, 0)))

	raw, rawMeta := buffers(rng, p.l, n)
	require.NoError(t, d.ReadBlocks(ctx, slba, raw, rawMeta, p.options(false, p.check)))
	require.NoError(t, p.verify(raw, rawMeta, slba), "the controller's tuples, checked by the host")

	if host.PI != nvme.PINone {
		// The tuple in the host's metadata is replaced; the rest stays.
		for i := range int(n) {
			copy(tupleAt(p.l, data, meta, i), tupleAt(p.l, raw, rawMeta, i))
		}
		require.True(t, bytes.Equal(data, raw) && bytes.Equal(meta, rawMeta), "%d blocks", n)
	} else {
		for i := range int(n) {
			require.True(t, bytes.Equal(data[i*int(p.l.LBASize):][:p.l.LBASize], raw[i*int(p.l.Unit()):][:p.l.LBASize]), "block %d of %d", i, n)
		}
	}
	got, gotMeta := buffers(rng, host, n)
	require.NoError(t, d.ReadBlocks(ctx, slba, got, gotMeta, p.options(true, p.check)))
	require.True(t, bytes.Equal(data, got) && bytes.Equal(meta, gotMeta), "%d blocks, read with PRACT", n)
}

func madeByHost(t *testing.T, d *passthru.Device, p protection, rng *rand.Rand, slba uint64, n uint32) {
	t.Helper()
	ctx := context.Background()
	data, meta := buffers(rng, p.l, n)
	p.generate(t, data, meta, slba)
	require.NoError(t, d.WriteBlocks(ctx, slba, data, meta, p.options(false, p.check)))
	got, gotMeta := buffers(rng, p.l, n)
	require.NoError(t, d.ReadBlocks(ctx, slba, got, gotMeta, p.options(false, p.check)))
	require.True(t, bytes.Equal(data, got) && bytes.Equal(meta, gotMeta), "%d blocks", n)
	require.NoError(t, p.verify(got, gotMeta, slba))
	verify, err := nvme.NewVerify(d.NSID(), p.l, slba, n, p.options(false, p.check))
	require.NoError(t, err)
	_, err = d.Do(ctx, verify, nil)
	require.NoError(t, err)
	require.NoError(t, d.CompareBlocks(ctx, slba, data, meta, p.options(false, p.check)))
}

// damaged writes a tuple with one bit wrong, unchecked: every reader that
// checks notices, and names the part. A checked write of it is refused and
// leaves the old data.
func damaged(t *testing.T, d *passthru.Device, p protection, rng *rand.Rand, slba uint64, n uint32) {
	t.Helper()
	ctx := context.Background()
	guard := 8 // its size in bytes
	if p.l.PIFormat == nvme.Guard16 {
		guard = 2
	}
	for _, part := range []struct {
		check nvme.PRCheck
		at    int // byte of the tuple
		code  nvme.Code
	}{
		{nvme.CheckGuard, 0, nvme.GuardCheckError},
		{nvme.CheckApp, guard, nvme.ApplicationTagCheckError},
		{nvme.CheckRef, int(p.l.PISize()) - 1, nvme.ReferenceTagCheckError},
	} {
		if p.check&part.check == 0 {
			continue
		}
		good, goodMeta := buffers(rng, p.l, n)
		p.generate(t, good, goodMeta, slba)
		require.NoError(t, d.WriteBlocks(ctx, slba, good, goodMeta, p.options(false, p.check)))

		data, meta := buffers(rng, p.l, n)
		p.generate(t, data, meta, slba)
		tupleAt(p.l, data, meta, int(n-1))[part.at] ^= 1
		require.ErrorIs(t, p.verify(data, meta, slba), part.code)
		require.ErrorIs(t, d.WriteBlocks(ctx, slba, data, meta, p.options(false, p.check)), part.code)
		got, gotMeta := buffers(rng, p.l, n)
		require.NoError(t, d.ReadBlocks(ctx, slba, got, gotMeta, p.options(false, p.check)))
		require.True(t, bytes.Equal(good, got) && bytes.Equal(goodMeta, gotMeta), "a refused write of %d blocks changed nothing", n)

		require.NoError(t, d.WriteBlocks(ctx, slba, data, meta, p.options(false, 0)))
		require.NoError(t, d.ReadBlocks(ctx, slba, got, gotMeta, p.options(false, 0)))
		require.True(t, bytes.Equal(data, got) && bytes.Equal(meta, gotMeta), "unchecked, %d blocks", n)
		require.ErrorIs(t, p.verify(got, gotMeta, slba), part.code)
		require.ErrorIs(t, d.ReadBlocks(ctx, slba, got, gotMeta, p.options(false, part.check)), part.code)
		require.NoError(t, d.ReadBlocks(ctx, slba, got, gotMeta, p.options(false, p.check&^part.check)), "the other parts are right")
		verify, err := nvme.NewVerify(d.NSID(), p.l, slba, n, p.options(false, part.check))
		require.NoError(t, err)
		_, err = d.Do(ctx, verify, nil)
		require.ErrorIs(t, err, part.code)
	}
}

// copied: the drive checks the tuples of the sources and makes new ones at the
// destination, where reference tags differ.
func copied(t *testing.T, d *passthru.Device, p protection, rng *rand.Rand) {
	t.Helper()
	ctx := context.Background()
	format := nvme.CopyFormat0
	if p.l.PIFormat != nvme.Guard16 {
		format = nvme.CopyFormat1
	}
	const dst = 411
	var ranges []nvme.CopyRange
	var want, list []byte
	for _, slba := range []uint64{211, 303} {
		data, meta := buffers(rng, p.l, 4)
		p.generate(t, data, meta, slba)
		require.NoError(t, d.WriteBlocks(ctx, slba, data, meta, p.options(false, p.check)))
		for i := range 4 {
			want = append(want, data[i*int(p.l.Unit()):][:p.l.LBASize]...)
		}
		r := nvme.CopyRange{SLBA: slba, NLB: 4, RefTag: p.ref, AppTag: p.app, AppMask: 0xffff}
		if p.l.PI == nvme.PIType1 {
			r.RefTag = p.l.RefTagOf(slba)
		}
		ranges = append(ranges, r)
		list = r.AppendTo(list, format, p.l)
	}
	cmd, err := nvme.NewCopy(d.NSID(), p.l, dst, ranges, nvme.CopyOptions{
		Format: format, ReadPRACT: true, ReadPRCHK: p.check, Write: p.options(true, 0),
	})
	require.NoError(t, err)
	_, err = d.Do(ctx, cmd, list)
	require.NoError(t, err)
	got, meta := buffers(rng, p.l, 8)
	require.NoError(t, d.ReadBlocks(ctx, dst, got, meta, p.options(false, p.check)))
	require.NoError(t, p.verify(got, meta, dst))
	for i := range 8 {
		require.True(t, bytes.Equal(want[i*int(p.l.LBASize):][:p.l.LBASize], got[i*int(p.l.Unit()):][:p.l.LBASize]), "block %d", i)
	}
}

// zeroesAreProtected: write zeroes leaves blocks that read as zeros with right
// tuples or with tuples that switch the checks off.
func zeroesAreProtected(t *testing.T, d *passthru.Device, p protection) {
	t.Helper()
	require.NoError(t, d.WriteZeroes(context.Background(), passthru.Range{SLBA: 40, Blocks: 8}, false))
	buf := make([]byte, 8*d.DataLayout().Unit())
	_, err := d.ReadAt(buf, 40*int64(d.DataLayout().Unit()))
	require.NoError(t, err)
	for i := range 8 {
		data := buf[i*int(d.DataLayout().Unit()):][:p.l.LBASize]
		require.Equal(t, make([]byte, p.l.LBASize), data)
	}
}
