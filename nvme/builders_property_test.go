package nvme

import (
	"encoding/binary"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// drawn is what one draw of arguments came to: the builder's answer, and the
// command as the figures of the specification have it, made here bit by bit.
type drawn struct {
	got  Command
	err  error
	want Command
	// set and layout are those that the command is checked with.
	set    CommandSet
	layout Layout
	limits Limits
}

// draw makes arguments at random: mostly valid ones, and now and then such as
// must be refused.
type draw struct{ *rand.Rand }

func (r draw) maybe(one int) bool { return r.IntN(one) == 0 }

func (r draw) layout() Layout {
	for {
		l := Layout{LBASize: 1 << (9 + r.UintN(5)), MetadataSize: []uint16{0, 8, 16, 64}[r.IntN(4)], Extended: r.maybe(2), PIFirst: r.maybe(3)}
		if l.MetadataSize > 0 && r.maybe(2) {
			l.PI, l.PIFormat, l.StorageTagBits = PIType(r.UintN(4)), PIFormat(r.UintN(3)), uint8(r.UintN(65))
		}
		if l.Validate() == nil {
			return l
		}
	}
}

// size of a list or buffer, at an edge as often as not.
func (r draw) size(most uint32) uint32 {
	edges := []uint32{0, 1, 2, most - 1, most, most + 1}
	if r.maybe(2) {
		return edges[r.IntN(len(edges))]
	}
	return 1 + r.Uint32N(most)
}

// slba is one of a namespace of blocks, near its ends as often as not.
func (r draw) slba(blocks uint64) uint64 {
	switch r.IntN(5) {
	case 0:
		return r.Uint64N(4)
	case 1:
		return blocks - r.Uint64N(70000)
	case 2:
		return math.MaxUint64 - r.Uint64N(4)
	}
	return r.Uint64N(blocks)
}

func bit(on bool, n uint) uint32 {
	if on {
		return 1 << n
	}
	return 0
}

// options of a block command, and whether it is a write.
func (r draw) options(l Layout, writes, hints bool, lim Limits) IOOptions {
	o := IOOptions{FUA: r.maybe(3), LR: r.maybe(3), TimeoutMS: uint32(r.IntN(2)) * r.Uint32(), Limits: lim}
	if l.PI != PINone {
		o.PRACT, o.PRCHK, o.CheckStorageTag = r.maybe(4), PRCheck(r.UintN(8)), r.maybe(3)
		o.AppTag, o.AppMask = uint16(r.Uint32()), uint16(r.Uint32())
		if l.PI != PIType1 || r.maybe(50) {
			o.RefTag = r.Uint64() & (1<<min(l.refTagBits(), 63) - 1)
		}
		o.StorageTag = r.Uint64() & (1<<min(l.StorageTagBits, 63) - 1)
	}
	if hints && r.maybe(2) {
		o.Hint = AccessHint(r.Uint32())
	}
	if writes && r.maybe(2) {
		o.Directive, o.DSPEC = DirectiveType(1+r.UintN(15)), uint16(r.Uint32())
	}
	return o
}

// protect gives a command the fields of end-to-end protection as the figures
// have them: PRINFO and STC in CDW12, the application tag in CDW15, and the
// storage tag above the reference tag in the tag space of 32, 80 or 48 bits,
// which CDW14, CDW3 and CDW2 hold from its low end up.
func protect(c *Command, l Layout, slba uint64, o IOOptions) {
	if l.PI == PINone {
		return
	}
	c.CDW12 |= bit(o.PRACT, 29) | uint32(o.PRCHK)<<26 | bit(o.CheckStorageTag, 24)
	c.CDW15 = uint32(o.AppMask)<<16 | uint32(o.AppTag)
	bits := map[PIFormat]uint{Guard16: 32, Guard32: 80, Guard64: 48}[l.PIFormat] - uint(l.StorageTagBits)
	ref := new(big.Int).SetUint64(o.RefTag)
	if l.PI == PIType1 {
		ref.SetUint64(slba)
		ref.And(ref, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), bits), big.NewInt(1)))
	}
	space := new(big.Int).Lsh(new(big.Int).SetUint64(o.StorageTag), bits)
	space.Or(space, ref)
	word := func(n uint) uint32 {
		return uint32(new(big.Int).And(new(big.Int).Rsh(space, 32*n), big.NewInt(math.MaxUint32)).Uint64())
	}
	c.CDW14, c.CDW3, c.CDW2 = word(0), word(1), word(2)
}

// blockCommand draws a command over blocks. more adds what is its own.
func blockCommand(op Opcode, data, writes, hints bool, build func(uint32, Layout, uint64, uint32, IOOptions) (Command, error)) func(draw) drawn {
	return func(r draw) drawn {
		l := r.layout()
		lim := Limits{Blocks: 1 << (20 + r.UintN(43)), MaxTransfer: uint64(r.UintN(2)) << 20, Set: SetNVM}
		if op == OpZoneAppend {
			lim.Set, lim.MaxAppend = SetZNS, uint64(r.UintN(2))<<18
		}
		slba, nlb, nsid := r.slba(lim.Blocks), r.size(MaxNLB), 1+r.Uint32N(3)
		if r.maybe(2) {
			nlb = 1 + r.Uint32N(64)
		}
		o := r.options(l, writes, hints, lim)
		d := drawn{set: lim.Set, layout: l, limits: lim}
		if op == OpWriteUncorrectable {
			o = IOOptions{Directive: o.Directive, DSPEC: o.DSPEC, TimeoutMS: o.TimeoutMS, Limits: lim}
		}
		d.got, d.err = build(nsid, l, slba, nlb, o)
		d.want = Command{Opcode: op, NSID: nsid, TimeoutMS: o.TimeoutMS, CDW10: uint32(slba), CDW11: uint32(slba >> 32)}
		d.want.CDW12 = nlb - 1 | bit(o.LR, 31) | bit(o.FUA, 30) | uint32(o.Directive)<<20
		d.want.CDW13 = uint32(o.Hint) | uint32(o.DSPEC)<<16
		if op != OpWriteUncorrectable {
			protect(&d.want, l, slba, o)
		}
		if op == OpZoneAppend {
			d.want.CDW12 |= bit(l.PI == PIType1, 25)
		}
		if data {
			// Of 8 and 16 bytes of metadata that are all tuple, PRACT moves none.
			meta := uint32(l.MetadataSize)
			if o.PRACT && meta == map[PIFormat]uint32{Guard16: 8, Guard32: 16, Guard64: 16}[l.PIFormat] {
				meta = 0
			}
			d.want.DataLen, d.want.MetadataLen = nlb*l.LBASize, nlb*meta
			if l.Extended {
				d.want.DataLen, d.want.MetadataLen = nlb*(l.LBASize+meta), 0
			}
		}
		return d
	}
}

func dsmProperty(r draw) drawn {
	lim := Limits{Blocks: 1 << 40}
	ranges := make([]DSMRange, r.size(MaxDSMRanges))
	for i := range ranges {
		ranges[i] = DSMRange{NLB: 1 + r.Uint32(), SLBA: r.Uint64N(1 << 39)}
	}
	attr := DSMAttributes(r.UintN(8))
	d := drawn{limits: lim, layout: Layout{LBASize: 512}}
	d.got, d.err = NewDSM(1, ranges, attr, lim)
	d.want = Command{Opcode: 0x09, NSID: 1, CDW10: uint32(len(ranges) - 1), CDW11: uint32(attr), DataLen: 16 * uint32(len(ranges))}
	return d
}

func copyProperty(r draw) drawn {
	l := r.layout()
	lim := Limits{Blocks: 1 << 40}
	ranges := make([]CopyRange, r.size(MaxCopyRanges))
	o := CopyOptions{Format: CopyFormat(r.UintN(5)), Write: r.options(l, true, false, lim)}
	if l.PI != PINone && r.maybe(2) {
		o.ReadPRACT, o.ReadPRCHK, o.ReadCheckStorageTag = r.maybe(2), PRCheck(r.UintN(8)), r.maybe(2)
	}
	for i := range ranges {
		ranges[i] = CopyRange{SLBA: r.Uint64N(1 << 39), NLB: 1 + r.Uint32N(MaxNLB)}
		if o.Format == CopyFormat2 || o.Format == CopyFormat3 {
			ranges[i].NSID = 1 + r.Uint32N(3)
		}
	}
	dst := r.slba(lim.Blocks)
	d := drawn{limits: lim, layout: l}
	d.got, d.err = NewCopy(1, l, dst, ranges, o)
	d.want = Command{Opcode: 0x19, NSID: 1, TimeoutMS: o.Write.TimeoutMS, CDW10: uint32(dst), CDW11: uint32(dst >> 32), CDW13: uint32(o.Write.DSPEC) << 16}
	d.want.CDW12 = uint32(len(ranges)-1)&0xff | uint32(o.Format)<<8 | uint32(o.ReadPRCHK)<<12 | bit(o.ReadPRACT, 15) | uint32(o.Write.Directive)<<20 |
		bit(o.ReadCheckStorageTag, 25) | bit(o.Write.FUA, 30) | bit(o.Write.LR, 31)
	protect(&d.want, l, dst, o.Write)
	d.want.DataLen = uint32(len(ranges)) * map[CopyFormat]uint32{0: 32, 1: 40, 2: 32, 3: 40}[o.Format]
	return d
}

func zoneSendProperty(r draw) drawn {
	actions := []ZoneAction{ZoneClose, ZoneFinish, ZoneOpen, ZoneReset, ZoneOffline, ZoneSetDescExtension, ZoneFlushZRWA}
	a := actions[r.IntN(len(actions))]
	o := ZoneSendOptions{All: r.maybe(4), ZRWA: a == ZoneOpen && r.maybe(2), TimeoutMS: r.Uint32(), Limits: Limits{Set: SetZNS, Blocks: 1 << 40}}
	if a == ZoneSetDescExtension || r.maybe(20) {
		o.ExtensionLen = 64 * r.Uint32N(256)
	}
	slba := r.slba(1 << 40)
	d := drawn{set: SetZNS, limits: o.Limits, layout: Layout{LBASize: 512}}
	d.got, d.err = NewZoneSend(1, slba, a, o)
	d.want = Command{Opcode: 0x79, NSID: 1, TimeoutMS: o.TimeoutMS, CDW13: uint32(a) | bit(o.All, 8) | bit(o.ZRWA, 9), DataLen: o.ExtensionLen}
	if !o.All {
		d.want.CDW10, d.want.CDW11 = uint32(slba), uint32(slba>>32)
	}
	return d
}

func zoneReportProperty(extended bool) func(draw) drawn {
	return func(r draw) drawn {
		lim := Limits{Set: SetZNS, Blocks: 1 << 40, MaxTransfer: uint64(r.UintN(2)) << 20}
		slba, filter, partial, length := r.slba(1<<40), ZoneReportFilter(r.UintN(8)), r.maybe(2), r.Uint32N(2<<20)
		if r.maybe(2) {
			length &^= 3
		}
		build := NewZoneReport
		if extended {
			build = NewExtendedZoneReport
		}
		d := drawn{set: SetZNS, limits: lim, layout: Layout{LBASize: 512}}
		d.got, d.err = build(1, slba, filter, partial, length, lim)
		d.want = Command{
			Opcode: 0x7a, NSID: 1, CDW10: uint32(slba), CDW11: uint32(slba >> 32), CDW12: length/4 - 1,
			CDW13: bit(extended, 0) | uint32(filter)<<8 | bit(partial, 16), DataLen: length,
		}
		return d
	}
}

func kvProperty(op Opcode, build func(r draw, key []byte) (size, cdw11 uint32, c Command, err error)) func(draw) drawn {
	return func(r draw) drawn {
		key := make([]byte, r.IntN(MaxKVKey+2))
		for i := range key {
			key[i] = byte(r.Uint32())
		}
		size, cdw11, c, err := build(r, key)
		d := drawn{set: SetKV, got: c, err: err}
		var k [17]byte
		copy(k[:], key)
		le := binary.LittleEndian
		d.want = Command{
			Opcode: op, NSID: 1, CDW2: le.Uint32(k[:]), CDW3: le.Uint32(k[4:]), CDW14: le.Uint32(k[8:]), CDW15: le.Uint32(k[12:]),
			CDW10: size, CDW11: cdw11 | uint32(len(key)), DataLen: size,
		}
		return d
	}
}

func receiveProperty(r draw) drawn {
	lim := Limits{MaxTransfer: uint64(r.UintN(2)) << 20}
	mo, mos, length := uint8(r.Uint32()), uint16(r.Uint32()), r.Uint32N(2<<20)
	if r.maybe(2) {
		length &^= 3
	}
	d := drawn{limits: lim}
	d.got, d.err = NewIOMgmtRecv(1, mo, mos, length, lim)
	d.want = Command{Opcode: 0x12, NSID: 1, CDW10: uint32(mos)<<16 | uint32(mo), CDW11: length/4 - 1, DataLen: length}
	return d
}

func identifyProperty(r draw) drawn {
	cns, o := CNS(r.Uint32()), IdentifyOptions{NSID: r.Uint32(), CNTID: uint16(r.Uint32()), SpecificID: uint16(r.Uint32()), CSI: CommandSet(r.UintN(3)), UUIDIndex: uint8(r.UintN(140))}
	d := drawn{set: SetAdmin}
	d.got, d.err = NewIdentify(cns, o)
	d.want = Command{
		Opcode: 0x06, NSID: o.NSID, CDW10: uint32(cns) | uint32(o.CNTID)<<16, CDW11: uint32(o.SpecificID) | uint32(o.CSI)<<24, CDW14: uint32(o.UUIDIndex), DataLen: 4096,
	}
	return d
}

func logProperty(r draw) drawn {
	o := LogOptions{
		NSID: r.Uint32(), Offset: r.Uint64(), ByIndex: r.maybe(4), LSP: uint8(r.UintN(130)), LSI: uint16(r.Uint32()), RAE: r.maybe(2), CSI: CommandSet(r.UintN(3)), UUIDIndex: uint8(r.UintN(130)),
	}
	lid, length := LID(r.Uint32()), r.Uint32()>>r.UintN(20)
	if !r.maybe(4) {
		o.Offset, length = o.Offset&^3, length&^3
	}
	d := drawn{set: SetAdmin}
	d.got, d.err = NewGetLogPage(lid, length, o)
	numd := uint64(length)/4 - 1
	d.want = Command{
		Opcode: 0x02, NSID: o.NSID, DataLen: length, CDW10: uint32(lid) | uint32(o.LSP)<<8 | bit(o.RAE, 15) | uint32(numd&0xffff)<<16,
		CDW11: uint32(numd>>16)&0xffff | uint32(o.LSI)<<16, CDW12: uint32(o.Offset), CDW13: uint32(o.Offset >> 32),
		CDW14: uint32(o.UUIDIndex) | bit(o.ByIndex, 23) | uint32(o.CSI)<<24,
	}
	return d
}

// builderProperties has every builder of the package, by name.
var builderProperties = map[string]func(draw) drawn{
	"NewRead":               blockCommand(0x02, true, false, true, NewRead),
	"NewWrite":              blockCommand(0x01, true, true, true, NewWrite),
	"NewCompare":            blockCommand(0x05, true, false, false, NewCompare),
	"NewVerify":             blockCommand(0x0c, false, false, false, NewVerify),
	"NewWriteUncorrectable": blockCommand(0x04, false, true, false, NewWriteUncorrectable),
	"NewZoneAppend":         blockCommand(0x7d, true, true, false, NewZoneAppend),
	"NewWriteZeroes": func(r draw) drawn {
		deallocate := r.maybe(2)
		d := blockCommand(0x08, false, true, false, func(nsid uint32, l Layout, slba uint64, nlb uint32, o IOOptions) (Command, error) {
			return NewWriteZeroes(nsid, l, slba, nlb, deallocate, o)
		})(r)
		d.want.CDW12 |= bit(deallocate, 25)
		return d
	},
	"NewFlush": func(r draw) drawn {
		nsid := r.Uint32()
		return drawn{got: NewFlush(nsid), want: Command{NSID: nsid}}
	},
	"NewDSM":                dsmProperty,
	"NewCopy":               copyProperty,
	"NewZoneSend":           zoneSendProperty,
	"NewZoneReport":         zoneReportProperty(false),
	"NewExtendedZoneReport": zoneReportProperty(true),
	"NewKVStore": kvProperty(0x01, func(r draw, key []byte) (uint32, uint32, Command, error) {
		size, o := r.Uint32(), KVStoreOption(r.UintN(9))
		c, err := NewKVStore(1, key, size, o)
		return size, uint32(o) << 8, c, err
	}),
	"NewKVRetrieve": kvProperty(0x02, func(r draw, key []byte) (uint32, uint32, Command, error) {
		size, raw := r.Uint32(), r.maybe(2)
		c, err := NewKVRetrieve(1, key, size, raw)
		return size, bit(raw, 8), c, err
	}),
	"NewKVList": kvProperty(0x06, func(r draw, key []byte) (uint32, uint32, Command, error) {
		size := r.Uint32()
		if !r.maybe(4) {
			size &^= 3
		}
		c, err := NewKVList(1, key, size)
		return size, 0, c, err
	}),
	"NewKVDelete": kvProperty(0x10, func(_ draw, key []byte) (uint32, uint32, Command, error) {
		c, err := NewKVDelete(1, key)
		return 0, 0, c, err
	}),
	"NewKVExist": kvProperty(0x14, func(_ draw, key []byte) (uint32, uint32, Command, error) {
		c, err := NewKVExist(1, key)
		return 0, 0, c, err
	}),
	"NewIOMgmtRecv": receiveProperty,
	"NewRUHStatus": func(r draw) drawn {
		length := r.Uint32N(1<<20) &^ uint32(r.UintN(4))
		d := drawn{}
		d.got, d.err = NewRUHStatus(1, length, Limits{})
		d.want = Command{Opcode: 0x12, NSID: 1, CDW10: 1, CDW11: length/4 - 1, DataLen: length}
		return d
	},
	"NewIOMgmtSend": func(r draw) drawn {
		mo, mos, length := uint8(r.Uint32()), uint16(r.Uint32()), r.Uint32N(2<<20)
		if mo == 1 {
			length = 2 * (uint32(mos) + 1)
		}
		d := drawn{limits: Limits{MaxTransfer: 1 << 20}}
		d.got, d.err = NewIOMgmtSend(1, mo, mos, length, d.limits)
		d.want = Command{Opcode: 0x1d, NSID: 1, CDW10: uint32(mos)<<16 | uint32(mo), DataLen: length}
		return d
	},
	"NewRUHUpdate": func(r draw) drawn {
		n := int(r.size(MaxPlacementIDs))
		d := drawn{}
		d.got, d.err = NewRUHUpdate(1, n, Limits{})
		d.want = Command{Opcode: 0x1d, NSID: 1, CDW10: uint32(n-1)<<16 | 1, DataLen: 2 * uint32(n)}
		return d
	},
	"NewIdentify":   identifyProperty,
	"NewGetLogPage": logProperty,
	"NewGetFeatures": func(r draw) drawn {
		fid, sel, value := FID(r.Uint32()), FeatureSelect(r.UintN(5)), r.Uint32()
		length := fid.DataLen(false, value)
		d := drawn{set: SetAdmin}
		d.got, d.err = NewGetFeatures(1, fid, sel, value, length)
		d.want = Command{Opcode: 0x0a, NSID: 1, CDW10: uint32(fid) | uint32(sel)<<8, CDW11: value, DataLen: length}
		return d
	},
	"NewSetFeatures": func(r draw) drawn {
		fid, value := FID(r.Uint32()), r.Uint32()
		o := FeatureOptions{Save: r.maybe(2), CDW12: r.Uint32(), CDW13: r.Uint32(), CDW14: r.Uint32N(128), CDW15: r.Uint32(), Length: fid.DataLen(true, value)}
		return drawn{set: SetAdmin, got: NewSetFeatures(1, fid, value, o), want: Command{
			Opcode: 0x09, NSID: 1, CDW10: uint32(fid) | bit(o.Save, 31), CDW11: value, CDW12: o.CDW12, CDW13: o.CDW13, CDW14: o.CDW14, CDW15: o.CDW15, DataLen: o.Length,
		}}
	},
}

// mayAlwaysBuild are the builders that have nothing to refuse.
var mayAlwaysBuild = []string{"NewFlush", "NewSetFeatures"}

// TestEveryBuilder: each field of a command is where the specification has it
// and holds what was asked for, everything else is zero, one block count gives
// all lengths, and what a builder makes passes Check. What it refuses comes back
// as no command, with the field that is wrong.
func TestEveryBuilder(t *testing.T) {
	const draws = 4000
	for name, property := range builderProperties {
		r := draw{rand.New(rand.NewPCG(uint64(len(name)), 9))}
		built, refused := 0, 0
		for range draws {
			d := property(r)
			if d.err != nil {
				refused++
				require.Equal(t, Command{}, d.got, name)
				var bad *CommandError
				require.ErrorAs(t, d.err, &bad, name)
				require.NotEmpty(t, bad.Field, name)
				continue
			}
			built++
			require.Equal(t, d.want, d.got, name)
			require.NoError(t, Check(&d.got, d.layout, d.limits.with(d.set)), name)
			image := d.got.AppendTo(nil)
			back, err := DecodeCommand(image)
			require.NoError(t, err)
			require.Equal(t, d.got, back, name)
		}
		require.GreaterOrEqual(t, built, draws/20, name)
		if !slices.Contains(mayAlwaysBuild, name) {
			require.GreaterOrEqual(t, refused, draws/200, name)
		}
	}
}

func (lim Limits) with(set CommandSet) Limits {
	lim.Set = set
	return lim
}

// exported lists the package's exported functions whose name begins with prefix
// and whose first result has the given type, "" for any.
func exported(t *testing.T, prefix, result string) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range tree.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, prefix) || f.Type.Results == nil {
				continue
			}
			if id, ok := f.Type.Results.List[0].Type.(*ast.Ident); result == "" || ok && id.Name == result {
				names = append(names, f.Name.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// TestEveryBuilderHasAProperty, so that a new one cannot be forgotten.
func TestEveryBuilderHasAProperty(t *testing.T) {
	var have []string
	for name := range builderProperties {
		have = append(have, name)
	}
	slices.Sort(have)
	require.Equal(t, exported(t, "New", "Command"), have)
}
