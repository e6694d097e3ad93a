package nvme

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestB11BlockCountIsZeroBased(t *testing.T) {
	for _, tc := range []struct {
		l     Layout
		bytes uint64
		field uint32
		data  uint32
		meta  uint32
	}{
		{Layout{LBASize: 512}, 4096, 7, 4096, 0},
		{Layout{LBASize: 512}, 512, 0, 512, 0},
		{Layout{LBASize: 4096}, 4096, 0, 4096, 0},
		{Layout{LBASize: 4096, MetadataSize: 64, Extended: true}, 2 * 4160, 1, 8320, 0},
		{Layout{LBASize: 4096, MetadataSize: 64}, 2 * 4096, 1, 8192, 128},
		{Layout{LBASize: 512}, 65536 * 512, 65535, 65536 * 512, 0},
	} {
		nlb, err := tc.l.Blocks(tc.bytes)
		require.NoError(t, err)
		for _, build := range []func(uint32, Layout, uint64, uint32, IOOptions) (Command, error){NewRead, NewWrite, NewCompare, NewZoneAppend} {
			c, err := build(1, tc.l, 0x10, uint32(nlb), IOOptions{})
			require.NoError(t, err)
			require.Equal(t, tc.field, c.CDW12&0xffff)
			require.Equal(t, uint32(nlb), c.NLB())
			require.Equal(t, tc.data, c.DataLen)
			require.Equal(t, tc.meta, c.MetadataLen)
		}
	}
	for nlb, want := range map[uint32]string{
		0:          "read nsid=1: nlb: 0 blocks asked for; one command covers 1 to 65536",
		MaxNLB + 1: "read nsid=1: nlb: 65537 blocks asked for; one command covers 1 to 65536",
	} {
		_, err := NewRead(1, Layout{LBASize: 512}, 0, nlb, IOOptions{})
		require.EqualError(t, err, want)
	}
}

func TestB11CheckFindsDisagreement(t *testing.T) {
	l := Layout{LBASize: 512}
	c, err := NewRead(1, l, 0, 8, IOOptions{})
	require.NoError(t, err)
	require.NoError(t, Check(&c, l, Limits{}))

	short := c
	short.DataLen = 512
	require.EqualError(t, Check(&short, l, Limits{}), "read nsid=1: data_len: 512 bytes, but 8 blocks of 512 take 4096 (the NLB field is zero-based)")

	// The classic: the count where the zero-based field is.
	offByOne := c
	offByOne.CDW12 = 8
	require.ErrorContains(t, Check(&offByOne, l, Limits{}), "data_len: 4096 bytes, but 9 blocks of 512 take 4608")

	meta := c
	meta.MetadataLen = 64
	require.ErrorContains(t, Check(&meta, l, Limits{}), "metadata_len: 64 bytes, but 8 blocks of layout 512 take 0")
}

func TestB16OpcodesAreExact(t *testing.T) {
	l := Layout{LBASize: 512}
	for want, build := range map[Opcode]func(uint32, Layout, uint64, uint32, IOOptions) (Command, error){
		0x01: NewWrite, 0x02: NewRead, 0x04: NewWriteUncorrectable, 0x05: NewCompare, 0x0c: NewVerify, 0x7d: NewZoneAppend,
	} {
		c, err := build(1, l, 0, 1, IOOptions{})
		require.NoError(t, err)
		require.Equal(t, want, c.Opcode)
	}
	c, err := NewWriteZeroes(1, l, 0, 1, false, IOOptions{})
	require.NoError(t, err)
	require.Equal(t, Opcode(0x08), c.Opcode)
	require.Equal(t, Opcode(0x00), NewFlush(1).Opcode)
}

// One number of blocks yields all lengths, whatever the layout.
func TestLengthsAlwaysAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	build := []func(uint32, Layout, uint64, uint32, IOOptions) (Command, error){NewRead, NewWrite, NewCompare, NewZoneAppend}
	built := 0
	for range 20000 {
		l := Layout{
			LBASize:      1 << (9 + r.UintN(9)),
			MetadataSize: uint16(r.UintN(4) * r.UintN(129)),
			Extended:     r.UintN(2) == 1,
			PI:           PIType(r.UintN(5)),
			PIFormat:     PIFormat(r.UintN(4)),
			PIFirst:      r.UintN(2) == 1,
		}
		nlb := r.Uint32N(MaxNLB + 2)
		slba := r.Uint64() >> r.UintN(64)
		o := IOOptions{FUA: r.UintN(2) == 1, PRACT: r.UintN(3) == 0, Limits: Limits{MaxTransfer: uint64(r.UintN(2) * (1 << 20)), Blocks: 1 << 62}}
		c, err := build[r.IntN(len(build))](7, l, slba, nlb, o)
		if err != nil {
			require.Equal(t, Command{}, c)
			var bad *CommandError
			require.ErrorAs(t, err, &bad)
			continue
		}
		built++
		host := l
		if o.PRACT {
			host = l.UnderPRACT()
		}
		require.Equal(t, nlb, c.NLB())
		require.Equal(t, slba, c.SLBA())
		require.Equal(t, uint64(nlb)*uint64(host.Unit()), uint64(c.DataLen))
		require.Equal(t, host.MetadataLen(nlb), uint64(c.MetadataLen))
		back, err := host.Blocks(uint64(c.DataLen))
		require.NoError(t, err)
		require.Equal(t, uint64(nlb), back)
		require.NoError(t, Check(&c, l, o.Limits))

		// Any change to one of the three is found.
		for _, change := range []func(*Command){
			func(c *Command) { c.DataLen += host.Unit() },
			func(c *Command) { c.DataLen-- },
			func(c *Command) { c.MetadataLen++ },
			func(c *Command) { c.CDW12 ^= 1 },
		} {
			bad := c
			change(&bad)
			require.Error(t, Check(&bad, l, Limits{}))
		}
	}
	require.Greater(t, built, 1000)
}

func TestLimits(t *testing.T) {
	l := Layout{LBASize: 4096}
	lim := Limits{NSID: 1, Blocks: 1000, MaxTransfer: 131072}
	for _, tc := range []struct {
		nsid uint32
		slba uint64
		nlb  uint32
		want string
	}{
		{1, 0, 32, ""},
		{1, 999, 1, ""},
		{1, 999, 2, "read nsid=1: slba: blocks 0x3e7 to 0x3e8 are beyond the namespace's 1000 blocks (last is 0x3e7)"},
		{1, 1000, 1, "read nsid=1: slba: blocks 0x3e8 to 0x3e8 are beyond the namespace's 1000 blocks (last is 0x3e7)"},
		{1, math.MaxUint64, 8, "slba: blocks"},
		{1, 0, 33, "read nsid=1: data_len: 135168 bytes exceed the limit of 131072 bytes per command; ask for at most 32 blocks of 4096"},
		{2, 0, 1, "read nsid=2: nsid: the node belongs to namespace 1 and takes no other; open the node of namespace 2"},
	} {
		c, err := NewRead(tc.nsid, l, tc.slba, tc.nlb, IOOptions{Limits: lim})
		if tc.want == "" {
			require.NoError(t, err)
			require.NoError(t, Check(&c, l, lim))
			continue
		}
		require.ErrorContains(t, err, tc.want)
		c, err = NewRead(tc.nsid, l, 0, tc.nlb, IOOptions{})
		require.NoError(t, err)
		c.SetSLBA(tc.slba)
		require.Error(t, Check(&c, l, lim))
	}
	_, err := NewRead(1, l, math.MaxUint64, 2, IOOptions{})
	require.ErrorContains(t, err, "2 blocks from 0xffffffffffffffff pass the end of the 64-bit address range")
	_, err = NewRead(1, l, math.MaxUint64, 1, IOOptions{})
	require.NoError(t, err)
	_, err = NewRead(1, Layout{LBASize: 1 << 17}, 0, MaxNLB, IOOptions{})
	require.ErrorContains(t, err, "65536 blocks of 131072 take 8589934592 bytes, more than a 32-bit length holds; ask for at most 32767 blocks")
	big := Command{Opcode: OpRead, CDW12: 0xffff}
	require.ErrorContains(t, Check(&big, Layout{LBASize: 1 << 17}, Limits{}), "65536 blocks of 131072 take more than a 32-bit length holds")
}

// Zone append has a limit of its own, which holds beside the general one.
func TestZoneAppendLimit(t *testing.T) {
	l := Layout{LBASize: 4096}
	zns, err := DecodeIdentifyZNSController(append([]byte{3}, make([]byte, IdentifySize-1)...))
	require.NoError(t, err)
	for _, tc := range []struct {
		transfer, appends uint64
		most              uint32
		limit             uint64
	}{
		{0, 0, MaxNLB, 0}, {65536, 0, 16, 65536}, {0, zns.MaxAppend(0), 8, 32768}, {65536, zns.MaxAppend(0), 8, 32768}, {16384, zns.MaxAppend(0), 4, 16384}, {65536, 4095, 0, 4095},
	} {
		lim := Limits{Set: SetZNS, MaxTransfer: tc.transfer, MaxAppend: tc.appends}
		for _, nlb := range []uint32{tc.most, tc.most + 1} {
			if nlb == 0 || nlb > MaxNLB {
				continue
			}
			c, err := NewZoneAppend(1, l, 0, nlb, IOOptions{})
			require.NoError(t, err)
			_, limited := NewZoneAppend(1, l, 0, nlb, IOOptions{Limits: lim})
			if nlb <= tc.most {
				require.NoError(t, Check(&c, l, lim))
				require.NoError(t, limited)
				continue
			}
			want := fmt.Sprintf("zone-append nsid=1: data_len: %d bytes exceed the limit of %d bytes per command", nlb*4096, tc.limit)
			require.ErrorContains(t, Check(&c, l, lim), want)
			require.ErrorContains(t, limited, want)
		}
		// Other commands, and this opcode in other sets, keep the general limit.
		if tc.transfer == 65536 {
			_, err := NewWrite(1, l, 0, 16, IOOptions{Limits: lim})
			require.NoError(t, err)
			require.NoError(t, Check(&Command{Opcode: OpZoneAppend, DataLen: 65536}, l, Limits{Set: SetKV, MaxTransfer: 65536, MaxAppend: 4096}))
		}
	}
}

func TestOptionsThatDoNotFitAreRefused(t *testing.T) {
	plain := Layout{LBASize: 512}
	pi1 := Layout{LBASize: 512, MetadataSize: 8, PI: PIType1}
	pi2 := Layout{LBASize: 512, MetadataSize: 16, PI: PIType2, PIFormat: Guard64, StorageTagBits: 16}
	pi3 := Layout{LBASize: 512, MetadataSize: 8, PI: PIType3}
	zeroes := func(nsid uint32, l Layout, slba uint64, nlb uint32, o IOOptions) (Command, error) {
		return NewWriteZeroes(nsid, l, slba, nlb, false, o)
	}
	for _, tc := range []struct {
		build func(uint32, Layout, uint64, uint32, IOOptions) (Command, error)
		l     Layout
		o     IOOptions
		want  string
	}{
		{NewRead, plain, IOOptions{PRACT: true}, "prinfo: the namespace (512) has no protection information"},
		{NewRead, plain, IOOptions{PRCHK: CheckRef}, "has no protection information"},
		{NewRead, plain, IOOptions{AppMask: 1}, "has no protection information"},
		{NewRead, pi1, IOOptions{PRCHK: 8}, "PRCHK 8 is beyond 7"},
		{NewRead, pi1, IOOptions{RefTag: 5}, "reftag: 0x5 given, but with protection type 1 it follows from the SLBA"},
		{NewRead, pi2, IOOptions{RefTag: 1 << 32}, "reftag: 0x100000000 does not fit the namespace's 32-bit reference tag"},
		{NewRead, pi2, IOOptions{StorageTag: 1 << 16}, "storagetag: 0x10000 does not fit the namespace's 16-bit storage tag"},
		{NewRead, pi3, IOOptions{PRCHK: CheckAll}, "protection type 3 has no reference tag check"},
		{NewCompare, pi1, IOOptions{PRACT: true}, "PRACT is not allowed with this command"},
		{NewVerify, pi1, IOOptions{PRACT: true}, "PRACT is not allowed with this command"},
		{NewRead, plain, IOOptions{Directive: DirectiveStreams, DSPEC: 1}, "only commands that write take one"},
		{NewWrite, plain, IOOptions{Directive: 16}, "directive type 16"},
		{NewWrite, plain, IOOptions{DSPEC: 1}, "directive type 0 with dspec 1"},
		{NewCompare, plain, IOOptions{Hint: HintSequential}, "only read and write take one"},
		{zeroes, plain, IOOptions{Directive: 8}, "write zeroes takes 1 to 7"},
		{zeroes, plain, IOOptions{Directive: DirectivePlacement, DSPEC: 1}, ""},
		{NewWrite, plain, IOOptions{Directive: 8}, ""},
		{NewWriteUncorrectable, plain, IOOptions{FUA: true}, "the command has no FUA"},
		{NewWriteUncorrectable, plain, IOOptions{Directive: DirectiveStreams, DSPEC: 3}, ""},
	} {
		c, err := tc.build(1, tc.l, 0, 1, tc.o)
		if tc.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, tc.want)
		require.Equal(t, Command{}, c)
	}
}

func TestB51ReferenceTagFollowsLBA(t *testing.T) {
	l := Layout{LBASize: 512, MetadataSize: 8, PI: PIType1}
	c, err := NewWrite(1, l, 1<<32+5, 1, IOOptions{PRCHK: CheckRef})
	require.NoError(t, err)
	require.Equal(t, uint32(5), c.CDW14)
	require.Zero(t, c.CDW3)
	require.Equal(t, uint64(5), c.RefTag(l))
	c.SetRefTag(l, 7)
	require.Equal(t, uint32(7), c.CDW14)
}

// The tag space of each guard format lies over dwords 2, 3 and 14, storage tag
// on top.
func TestTagSpace(t *testing.T) {
	for _, tc := range []struct {
		format           PIFormat
		bits             uint8
		storage, ref     uint64
		cdw2, cdw3, cd14 uint32
	}{
		{Guard16, 0, 0, 0xaabbccdd, 0, 0, 0xaabbccdd},
		{Guard16, 8, 0x11, 0xbbccdd, 0, 0, 0x11bbccdd},
		{Guard16, 32, 0x11223344, 0, 0, 0, 0x11223344},
		{Guard64, 0, 0, 0x112233445566, 0, 0x1122, 0x33445566},
		{Guard64, 16, 0xaaaa, 0x33445566, 0, 0xaaaa, 0x33445566},
		{Guard64, 18, 0x12345, 0x2a, 0, 0x48d1, 0x4000002a},
		{Guard64, 24, 0xaabbcc, 0x445566, 0, 0xaabb, 0xcc445566},
		{Guard64, 48, 0xaabbccddeeff, 0, 0, 0xaabb, 0xccddeeff},
		{Guard32, 16, 0xaaaa, 0x1122334455667788, 0xaaaa, 0x11223344, 0x55667788},
		{Guard32, 64, 0xaabbccddeeff0011, 0x2233, 0xaabb, 0xccddeeff, 0x00112233},
		{Guard32, 48, 0xaabbccddeeff, 0x11223344, 0xaabb, 0xccddeeff, 0x11223344},
	} {
		l := Layout{LBASize: 4096, MetadataSize: 16, PI: PIType2, PIFormat: tc.format, StorageTagBits: tc.bits}
		c, err := NewRead(1, l, 0, 1, IOOptions{RefTag: tc.ref, StorageTag: tc.storage, PRCHK: CheckRef, CheckStorageTag: true})
		require.NoError(t, err)
		require.Equal(t, [3]uint32{tc.cdw2, tc.cdw3, tc.cd14}, [3]uint32{c.CDW2, c.CDW3, c.CDW14}, "format %d, %d bits", tc.format, tc.bits)
		require.True(t, c.STC())
		require.Equal(t, tc.ref, c.RefTag(l))
		hi, lo := l.tagWords(tc.storage, tc.ref)
		s, r := l.splitTags(hi, lo)
		require.Equal(t, [2]uint64{tc.storage, tc.ref}, [2]uint64{s, r})
		wideStorage, wideRef := tc.storage, tc.ref
		if tc.bits < 64 {
			wideStorage |= ^uint64(0) << tc.bits
		}
		if n := l.refTagBits(); n < 64 {
			wideRef |= ^uint64(0) << n
		}
		wideHi, wideLo := l.tagWords(wideStorage, wideRef)
		require.Equal(t, [2]uint64{hi, lo}, [2]uint64{wideHi, wideLo}, "tags that are too wide leave each other alone")
		other := ^tc.ref
		c.SetRefTag(l, other)
		require.Equal(t, l.RefTagOf(other), c.RefTag(l))
		s, _ = l.splitTags(uint64(c.CDW2), uint64(c.CDW3)<<32|uint64(c.CDW14))
		require.Equal(t, tc.storage, s, "SetRefTag keeps the storage tag")
	}
}

func TestBuildersDoNotAllocate(t *testing.T) {
	l := Layout{LBASize: 4096, MetadataSize: 64, Extended: true, PI: PIType1}
	lim := Limits{NSID: 1, Blocks: 1 << 30, MaxTransfer: 1 << 20}
	ranges := []DSMRange{{NLB: 8}, {SLBA: 8, NLB: 8}}
	sources := []CopyRange{{SLBA: 1, NLB: 8}}
	buf := make([]byte, 0, 4096)
	key := []byte("key")
	var c Command
	var err error
	for name, f := range map[string]func(){
		"read":    func() { c, err = NewRead(1, l, 8, 8, IOOptions{PRACT: true, PRCHK: CheckAll, Limits: lim}) },
		"write":   func() { c, err = NewWrite(1, l, 8, 8, IOOptions{FUA: true, Limits: lim}) },
		"compare": func() { c, err = NewCompare(1, l, 8, 8, IOOptions{Limits: lim}) },
		"verify":  func() { c, err = NewVerify(1, l, 8, 8, IOOptions{Limits: lim}) },
		"zeroes":  func() { c, err = NewWriteZeroes(1, l, 8, 8, true, IOOptions{Limits: lim}) },
		"uncor":   func() { c, err = NewWriteUncorrectable(1, l, 8, 8, IOOptions{Limits: lim}) },
		"flush":   func() { c = NewFlush(1) },
		"dsm": func() {
			c, err = NewDSM(1, ranges, DSMDeallocate, lim)
			buf = ranges[0].AppendTo(buf[:0])
		},
		"copy": func() {
			c, err = NewCopy(1, l, 100, sources, CopyOptions{Write: IOOptions{Limits: lim}})
			buf = sources[0].AppendTo(buf[:0], CopyFormat0, l)
		},
		"append":   func() { c, err = NewZoneAppend(1, l, 0, 8, IOOptions{Limits: lim}) },
		"send":     func() { c, err = NewZoneSend(1, 0, ZoneReset, ZoneSendOptions{Limits: lim}) },
		"report":   func() { c, err = NewZoneReport(1, 0, ZonesAll, true, 4096, lim) },
		"kv":       func() { c, err = NewKVStore(1, key, 512, KVMustExist) },
		"ruh":      func() { c, err = NewRUHStatus(1, 4096, lim) },
		"update":   func() { c, err = NewRUHUpdate(1, 2, lim) },
		"identify": func() { c, err = NewIdentify(CNSController, IdentifyOptions{}) },
		"log":      func() { c, err = NewGetLogPage(LogSMART, 512, LogOptions{NSID: AllNamespaces}) },
		"get":      func() { c, err = NewGetFeatures(0, FeatNumberOfQueues, FeatureCurrent, 0, 0) },
		"set":      func() { c = NewSetFeatures(0, FeatVolatileWriteCache, 1, FeatureOptions{}) },
		"check":    func() { err = Check(&c, l, Limits{}) },
		"image":    func() { buf = c.AppendTo(buf[:0]) },
		"sqe":      func() { buf = c.AppendSQE(buf[:0]) },
	} {
		if name == "check" {
			c, err = NewRead(1, l, 8, 8, IOOptions{})
		}
		require.Zero(t, testing.AllocsPerRun(100, f), name)
		require.NoError(t, err, name)
	}
}

func BenchmarkBuild(b *testing.B) {
	l := Layout{LBASize: 512}
	lim := Limits{NSID: 1, Blocks: 1 << 30, MaxTransfer: 1 << 20}
	b.Run("op=read", func(b *testing.B) {
		b.ReportAllocs()
		var sum uint32
		for i := range b.N {
			c, err := NewRead(1, l, uint64(i&0xffff), 8, IOOptions{Limits: lim})
			if err != nil {
				b.Fatal(err)
			}
			sum += c.DataLen
		}
		benchSink = uint64(sum)
	})
	b.Run("op=check", func(b *testing.B) {
		c, err := NewRead(1, l, 8, 8, IOOptions{Limits: lim})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for range b.N {
			if err := Check(&c, l, lim); err != nil {
				b.Fatal(err)
			}
		}
	})
}

var benchSink uint64
