package nvme

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// decoders are all decoders of bytes that come from a drive.
var decoders = map[string]func([]byte) (any, error){
	"controller":   func(b []byte) (any, error) { return DecodeIdentifyController(b) },
	"namespace":    func(b []byte) (any, error) { return DecodeIdentifyNamespace(b) },
	"nvmNamespace": func(b []byte) (any, error) { return DecodeIdentifyNVMNamespace(b) },
	"nvmCtrl":      func(b []byte) (any, error) { return DecodeIdentifyNVMController(b) },
	"znsNamespace": func(b []byte) (any, error) { return DecodeIdentifyZNSNamespace(b) },
	"znsCtrl":      func(b []byte) (any, error) { return DecodeIdentifyZNSController(b) },
	"independent":  func(b []byte) (any, error) { return DecodeIdentifyIndependentNamespace(b) },
	"list":         func(b []byte) (any, error) { return DecodeNamespaceList(b) },
	"descriptors":  func(b []byte) (any, error) { return DecodeNamespaceDescriptors(b) },
	"smart":        func(b []byte) (any, error) { return DecodeSMARTLog(b) },
	"errors":       func(b []byte) (any, error) { return DecodeErrorLog(b) },
	"firmware":     func(b []byte) (any, error) { return DecodeFirmwareSlots(b) },
	"effects":      func(b []byte) (any, error) { return DecodeEffectsLog(b) },
	"changed":      func(b []byte) (any, error) { return DecodeChangedNamespaces(b) },
	"kvNamespace":  func(b []byte) (any, error) { return DecodeIdentifyKVNamespace(b) },
	"controllers":  func(b []byte) (any, error) { return DecodeControllerList(b) },
	"primary":      func(b []byte) (any, error) { return DecodePrimaryController(b) },
	"secondary":    func(b []byte) (any, error) { return DecodeSecondaryControllers(b) },
	"nvmSets":      func(b []byte) (any, error) { return DecodeNVMSets(b) },
	"domains":      func(b []byte) (any, error) { return DecodeDomains(b) },
	"groups":       func(b []byte) (any, error) { return DecodeEnduranceGroups(b) },
	"granularity":  func(b []byte) (any, error) { return DecodeNamespaceGranularities(b) },
	"commandSets":  func(b []byte) (any, error) { return DecodeCommandSets(b) },
	"uuids":        func(b []byte) (any, error) { return DecodeUUIDs(b) },
	"fdpEvents":    func(b []byte) (any, error) { return DecodeFDPEvents(b) },
	"changedZones": func(b []byte) (any, error) { return DecodeChangedZones(b) },
	"zonesExt":     func(b []byte) (any, error) { return DecodeExtendedZoneReport(b, 64) },
	"zones":        func(b []byte) (any, error) { return DecodeZoneReport(b) },
	"keys":         func(b []byte) (any, error) { return DecodeKVList(b) },
	"ruhStatus":    func(b []byte) (any, error) { return DecodeRUHStatus(b) },
	"fdpConfigs":   func(b []byte) (any, error) { return DecodeFDPConfigs(b) },
	"fdpSize":      func(b []byte) (any, error) { return FDPConfigsSize(b) },
	"ruhUsage":     func(b []byte) (any, error) { return DecodeRUHUsage(b) },
	"fdpStats":     func(b []byte) (any, error) { return DecodeFDPStats(b) },
	"uint128":      func(b []byte) (any, error) { return DecodeUint128(b) },
	"dsmRange":     func(b []byte) (any, error) { return DecodeDSMRange(b) },
	"command":      func(b []byte) (any, error) { return DecodeCommand(b) },
}

// decodeAll runs all decoders. None may panic or change its input; what they
// return is valid JSON whose texts are fit for a terminal, and takes a bounded
// multiple of what was given; an error names the structure and the size.
func decodeAll(t *testing.T, b []byte) {
	t.Helper()
	before := bytes.Clone(b)
	for name, decode := range decoders {
		v, err := decode(b)
		if !bytes.Equal(b, before) {
			t.Fatalf("%s changed its input", name)
		}
		if err != nil {
			var short *SizeError
			if errors.As(err, &short) && (short.Given > len(b) || short.Need <= short.Given) || err.Error() == "" {
				t.Fatalf("%s of %d bytes: %v", name, len(b), err)
			}
			continue
		}
		j, err := json.Marshal(v)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if limit := 64*len(b) + 64<<10; len(j) > limit {
			t.Fatalf("%s made %d bytes of %d", name, len(j), len(b))
		}
		requirePrintable(t, name, j)
	}
}

// requirePrintable checks every text of a JSON document.
func requirePrintable(t *testing.T, name string, doc []byte) {
	t.Helper()
	if !bytes.Contains(doc, []byte(`\u`)) && bytes.IndexFunc(doc, func(r rune) bool { return r >= 0x7f }) < 0 {
		return // nothing is escaped, and all is ASCII
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	for {
		token, err := dec.Token()
		if err != nil {
			return
		}
		text, _ := token.(string)
		for _, r := range text {
			if !unicode.IsPrint(r) {
				t.Fatalf("%s: %q holds %U", name, text, r)
			}
		}
	}
}

// TestEveryDecoderIsFuzzed, so that a new one cannot be forgotten.
func TestEveryDecoderIsFuzzed(t *testing.T) {
	source, err := os.ReadFile("fuzz_test.go")
	require.NoError(t, err)
	for _, name := range exported(t, "Decode", "") {
		require.Contains(t, string(source), name+"(b", "no fuzz target calls it")
	}
}

func TestDecodersTakeAnyLength(t *testing.T) {
	for _, fill := range []byte{0, 1, 0xff} {
		for _, n := range []int{0, 1, 3, 4, 15, 16, 17, 31, 32, 40, 63, 64, 65, 72, 128, 511, 512, 4095, 4096, 4097, 8192} {
			decodeAll(t, bytes.Repeat([]byte{fill}, n))
		}
	}
}

func FuzzDecoders(f *testing.F) {
	f.Add(controllerBlob())
	f.Add(namespaceBlob(0x61, 1, LBAFormat{8, 9, 0}, LBAFormat{64, 12, 3}))
	f.Add(smartBlob())
	f.Add([]byte{3, 0, 0, 0, 2, 0, 'a', 'b', 3, 0, 'c', 'd', 'e', 0, 0, 0, 5, 0, 'f', 'g'})
	f.Add([]byte{1, 8, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1})
	f.Add(append([]byte{0xff, 7}, bytes.Repeat([]byte{1}, 200)...)) // counts that are too high, or just not
	f.Add(append([]byte{2, 0, 0, 0, 15}, bytes.Repeat([]byte{0x80}, 400)...))
	f.Add(append(make([]byte, 4), "=cmd|'/c'!A0\x1b]0;title\x07\u202e<script>"...)) // a serial number
	f.Add(bytes.Repeat([]byte{0xff}, IdentifySize))
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		decodeAll(t, b)
		// The fuzzer rarely finds a page's length by itself.
		decodeAll(t, append(bytes.Clone(b), make([]byte, IdentifySize)...)[:max(len(b), IdentifySize)])
	})
}

func FuzzIdentifyNamespaceLayout(f *testing.F) {
	f.Add(namespaceBlob(0x61, 1, LBAFormat{8, 9, 0}, LBAFormat{64, 12, 3}), uint32(2<<7|16))
	f.Add(make([]byte, 132), uint32(0))
	f.Fuzz(func(t *testing.T, b []byte, elbaf uint32) {
		page := make([]byte, IdentifySize)
		copy(page, b)
		n, err := DecodeIdentifyNamespace(page)
		if err != nil {
			t.Fatal(err)
		}
		x := &IdentifyNVMNamespace{}
		for i := range x.Formats {
			x.Formats[i] = ExtendedLBAFormat(elbaf)
		}
		for _, with := range []*IdentifyNVMNamespace{nil, x} {
			l, err := n.LayoutWith(with)
			if err != nil {
				continue
			}
			if err := l.Validate(); err != nil {
				t.Fatalf("a layout that is not valid: %v", err)
			}
			if _, err := NewRead(1, l, 0, 1, IOOptions{}); err != nil {
				t.Fatalf("one block cannot be read: %v", err)
			}
		}
	})
}

func FuzzStatus(f *testing.F) {
	f.Add(uint16(0x4080))
	f.Add(uint16(0xffff))
	f.Fuzz(func(t *testing.T, v uint16) {
		s := Status(v)
		if s.String() == "" || s.Code().Name() == "" {
			t.Fatal("no text")
		}
		if err := NewStatusError(&Command{Opcode: Opcode(v)}, SetNVM, s, uint64(v)); (err == nil) != s.OK() {
			t.Fatal("success and error mixed up")
		}
		if got := StatusFromErrorLog(v<<1 | 1); got != s&statusMask {
			t.Fatalf("got %#x, want %#x", got, s&statusMask)
		}
	})
}

func FuzzStrings(f *testing.F) {
	f.Add([]byte("  model \x1b[0m\xff\u202e\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, s := range []string{fixedString(b), terminatedString(b)} {
			if !utf8.ValidString(s) {
				t.Fatalf("%q is not UTF-8", s)
			}
			for _, r := range s {
				if !unicode.IsPrint(r) {
					t.Fatalf("%q holds %U", s, r)
				}
			}
		}
	})
}

// Whatever passes Check has lengths that agree.
func FuzzCheck(f *testing.F) {
	c := Command{Opcode: OpRead, NSID: 1, DataLen: 4096, CDW12: 7}
	f.Add(c.AppendTo(nil), uint8(9), uint16(0), uint8(0), uint8(0))
	f.Add(c.AppendTo(nil), uint8(12), uint16(64), uint8(1), uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, lbads uint8, ms uint16, flags, set uint8) {
		c, err := DecodeCommand(b)
		if err != nil {
			return
		}
		l := Layout{
			LBASize: 1 << (lbads & 31), MetadataSize: ms, Extended: flags&1 != 0, PI: PIType(flags >> 1 & 7),
			PIFormat: PIFormat(flags >> 4 & 3), StorageTagBits: flags >> 6 * 16,
		}
		lim := Limits{Set: CommandSet(set), Blocks: 1 << 40, MaxTransfer: 1 << 30}
		if err := Check(&c, l, lim); err != nil {
			if err.Error() == "" {
				t.Fatal("empty error")
			}
			return
		}
		_ = c.Text(lim.Set)
		switch lim.Set {
		case SetNVM, SetZNS:
		default:
			return
		}
		switch c.Opcode {
		case OpRead, OpWrite, OpCompare, OpZoneAppend:
			host := l
			if c.PRACT() {
				host = l.UnderPRACT()
			}
			if uint64(c.DataLen) != host.DataLen(c.NLB()) || uint64(c.MetadataLen) != host.MetadataLen(c.NLB()) {
				t.Fatalf("%s passed with layout %s", &c, l)
			}
			if c.SLBA()+uint64(c.NLB()) > lim.Blocks {
				t.Fatalf("%s passed beyond the namespace", &c)
			}
		}
	})
}

func FuzzCopyRange(f *testing.F) {
	f.Add(make([]byte, 40), uint8(1), uint8(2), uint8(16))
	f.Fuzz(func(t *testing.T, b []byte, format, guard, sts uint8) {
		l := Layout{LBASize: 512, MetadataSize: 16, PI: PIType1, PIFormat: PIFormat(guard % 3), StorageTagBits: sts}
		if !l.valid() {
			return
		}
		cf := CopyFormat(format % 5)
		r, err := DecodeCopyRange(b, cf, l)
		if err != nil {
			return
		}
		enc := r.AppendTo(nil, cf, l)
		back, err := DecodeCopyRange(enc, cf, l)
		if err != nil {
			t.Fatal(err)
		}
		// Tags of 32-bit entries hold what fits of a larger tag space.
		if cf.EntrySize() == 32 && l.PIFormat != Guard16 || cf.EntrySize() == 40 && l.PIFormat == Guard16 {
			r.RefTag, r.StorageTag, back.RefTag, back.StorageTag = 0, 0, 0, 0
		}
		if r != back {
			t.Fatalf("got %+v, want %+v", back, r)
		}
	})
}

func FuzzPI(f *testing.F) {
	f.Add(make([]byte, 16), uint8(0), uint8(0))
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, uint8(2), uint8(16))
	f.Fuzz(func(t *testing.T, b []byte, guard, sts uint8) {
		l := Layout{LBASize: 512, MetadataSize: 16, PI: PIType2, PIFormat: PIFormat(guard % 3), StorageTagBits: sts}
		if !l.valid() {
			return
		}
		p, err := l.DecodePI(b)
		if err != nil {
			return
		}
		if enc := l.AppendPI(nil, p); !bytes.Equal(enc, b[:l.PISize()]) {
			t.Fatalf("got %x, want %x", enc, b[:l.PISize()])
		}
	})
}

func FuzzUint128Text(f *testing.F) {
	f.Add([]byte("340282366920938463463374607431768211455"))
	f.Add([]byte("-0"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var u Uint128
		if u.UnmarshalText(b) != nil {
			return
		}
		var back Uint128
		if err := back.UnmarshalText([]byte(u.String())); err != nil || back != u {
			t.Fatalf("%q: %v, %v", b, back, err)
		}
		enc := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, u.Lo), u.Hi)
		if d, err := DecodeUint128(enc); err != nil || d != u {
			t.Fatalf("%q: %v, %v", b, d, err)
		}
	})
}
