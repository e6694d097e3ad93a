package nvme

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func must(t *testing.T, c Command, err error) Command {
	t.Helper()
	require.NoError(t, err)
	return c
}

// builderCases gives each builder's fields as literals from the specification's
// figures.
func builderCases(t *testing.T) []struct {
	name string
	set  CommandSet
	got  Command
	want Command
} {
	t.Helper()
	plain := Layout{LBASize: 512}
	ext := Layout{LBASize: 4096, MetadataSize: 64, Extended: true}
	sep := Layout{LBASize: 512, MetadataSize: 8, PI: PIType1}
	pi64 := Layout{LBASize: 4096, MetadataSize: 16, PI: PIType2, PIFormat: Guard64, StorageTagBits: 16}
	m := func(c Command, err error) Command { t.Helper(); return must(t, c, err) }
	return []struct {
		name string
		set  CommandSet
		got  Command
		want Command
	}{
		{"read", SetNVM, m(NewRead(1, plain, 0x1_0000_0010, 8, IOOptions{FUA: true, LR: true, Hint: HintSequential | HintLatencyLow | HintOneTimeRead})),
			Command{Opcode: 0x02, NSID: 1, DataLen: 4096, CDW10: 0x10, CDW11: 1, CDW12: 0xc0000007, CDW13: 0x76}},
		{"read extended", SetNVM, m(NewRead(2, ext, 3, 2, IOOptions{TimeoutMS: 30000})),
			Command{Opcode: 0x02, NSID: 2, DataLen: 8320, CDW10: 3, CDW12: 1, TimeoutMS: 30000}},
		{"read separate PI", SetNVM, m(NewRead(1, sep, 0x1_0000_0005, 4, IOOptions{PRCHK: CheckAll, AppTag: 0xabcd, AppMask: 0xffff})),
			Command{Opcode: 0x02, NSID: 1, DataLen: 2048, MetadataLen: 32, CDW10: 5, CDW11: 1, CDW12: 0x1c000003, CDW14: 5, CDW15: 0xffffabcd}},
		{"write PRACT", SetNVM, m(NewWrite(1, sep, 7, 4, IOOptions{PRACT: true, PRCHK: CheckGuard})),
			Command{Opcode: 0x01, NSID: 1, DataLen: 2048, CDW10: 7, CDW12: 0x30000003, CDW14: 7}},
		{"write placement", SetNVM, m(NewWrite(1, plain, 0, 65536, IOOptions{Directive: DirectivePlacement, DSPEC: 0x8001, Hint: HintIncompressible})),
			Command{Opcode: 0x01, NSID: 1, DataLen: 65536 * 512, CDW12: 0x0020ffff, CDW13: 0x80010080}},
		{"write storage tag", SetNVM, m(NewWrite(1, pi64, 0, 1, IOOptions{RefTag: 0x11223344, StorageTag: 0xbeef, CheckStorageTag: true})),
			Command{Opcode: 0x01, NSID: 1, DataLen: 4096, MetadataLen: 16, CDW3: 0xbeef, CDW12: 0x01000000, CDW14: 0x11223344}},
		{"compare", SetNVM, m(NewCompare(1, plain, 9, 1, IOOptions{FUA: true})),
			Command{Opcode: 0x05, NSID: 1, DataLen: 512, CDW10: 9, CDW12: 0x40000000}},
		{"verify", SetNVM, m(NewVerify(1, sep, 9, 256, IOOptions{PRCHK: CheckGuard | CheckApp})),
			Command{Opcode: 0x0c, NSID: 1, CDW10: 9, CDW12: 0x180000ff, CDW14: 9}},
		{"write zeroes", SetNVM, m(NewWriteZeroes(1, plain, 9, 256, true, IOOptions{FUA: true})),
			Command{Opcode: 0x08, NSID: 1, CDW10: 9, CDW12: 0x420000ff}},
		{"write uncorrectable", SetNVM, m(NewWriteUncorrectable(1, plain, 9, 2, IOOptions{})),
			Command{Opcode: 0x04, NSID: 1, CDW10: 9, CDW12: 1}},
		{"flush", SetNVM, NewFlush(1), Command{Opcode: 0x00, NSID: 1}},
		{"dsm", SetNVM, m(NewDSM(1, []DSMRange{{SLBA: 8, NLB: 8}, {SLBA: 64, NLB: 1}}, DSMDeallocate|DSMIntegralWrite, Limits{})),
			Command{Opcode: 0x09, NSID: 1, DataLen: 32, CDW10: 1, CDW11: 6}},
		{"copy", SetNVM, m(NewCopy(1, plain, 0x1_0000_0000, []CopyRange{{SLBA: 8, NLB: 8}, {SLBA: 64, NLB: 1}}, CopyOptions{Write: IOOptions{FUA: true}})),
			Command{Opcode: 0x19, NSID: 1, DataLen: 64, CDW11: 1, CDW12: 0x40000001}},
		{"copy between namespaces", SetNVM, m(NewCopy(1, pi64, 4, []CopyRange{{NSID: 2, SLBA: 8, NLB: 8, FastOnly: true}}, CopyOptions{
			Format: CopyFormat3, ReadPRACT: true, ReadPRCHK: CheckRef, ReadCheckStorageTag: true,
			Write: IOOptions{PRACT: true, PRCHK: CheckGuard, RefTag: 0x99, StorageTag: 0xaa, AppTag: 1, AppMask: 3, LR: true, Directive: DirectiveStreams, DSPEC: 2},
		})), Command{Opcode: 0x19, NSID: 1, DataLen: 40, CDW3: 0xaa, CDW10: 4, CDW12: 0xb2109300, CDW13: 0x20000, CDW14: 0x99, CDW15: 0x30001}},
		{"copy from protected namespace", SetNVM, m(NewCopy(1, plain, 0, []CopyRange{{NSID: 2, NLB: 4}}, CopyOptions{Format: CopyFormat2, ReadPRACT: true, ReadPRCHK: CheckAll})),
			Command{Opcode: 0x19, NSID: 1, DataLen: 32, CDW12: 0xf200}},
		{"zone append", SetZNS, m(NewZoneAppend(1, sep, 0x8000, 2, IOOptions{PRCHK: CheckRef})),
			Command{Opcode: 0x7d, NSID: 1, DataLen: 1024, MetadataLen: 16, CDW10: 0x8000, CDW12: 0x06000001, CDW14: 0x8000}},
		{"zone reset all", SetZNS, m(NewZoneSend(1, 5, ZoneReset, ZoneSendOptions{All: true})),
			Command{Opcode: 0x79, NSID: 1, CDW13: 0x104}},
		{"zone open", SetZNS, m(NewZoneSend(1, 0x1_0000_8000, ZoneOpen, ZoneSendOptions{ZRWA: true, TimeoutMS: 1})),
			Command{Opcode: 0x79, NSID: 1, CDW10: 0x8000, CDW11: 1, CDW13: 0x203, TimeoutMS: 1}},
		{"zone descriptor extension", SetZNS, m(NewZoneSend(1, 0, ZoneSetDescExtension, ZoneSendOptions{ExtensionLen: 64})),
			Command{Opcode: 0x79, NSID: 1, DataLen: 64, CDW13: 0x10}},
		{"zone report", SetZNS, m(NewZoneReport(1, 0x8000, ZonesFull, true, 4096, Limits{})),
			Command{Opcode: 0x7a, NSID: 1, DataLen: 4096, CDW10: 0x8000, CDW12: 1023, CDW13: 0x10500}},
		{"extended zone report", SetZNS, m(NewExtendedZoneReport(1, 0x1_0000_8000, ZonesEmpty, false, 192, Limits{})),
			Command{Opcode: 0x7a, NSID: 1, DataLen: 192, CDW10: 0x8000, CDW11: 1, CDW12: 47, CDW13: 0x101}},
		{"kv store", SetKV, m(NewKVStore(1, []byte("0123456789abcdef"), 100, KVMustNotExist|KVNoCompression)),
			Command{Opcode: 0x01, NSID: 1, DataLen: 100, CDW2: 0x33323130, CDW3: 0x37363534, CDW10: 100, CDW11: 0x610, CDW14: 0x62613938, CDW15: 0x66656463}},
		{"kv retrieve", SetKV, m(NewKVRetrieve(1, []byte("k"), 4096, true)),
			Command{Opcode: 0x02, NSID: 1, DataLen: 4096, CDW2: 'k', CDW10: 4096, CDW11: 0x101}},
		{"kv list", SetKV, m(NewKVList(1, nil, 4096)), Command{Opcode: 0x06, NSID: 1, DataLen: 4096, CDW10: 4096}},
		{"kv list from key", SetKV, m(NewKVList(1, []byte("k"), 64)), Command{Opcode: 0x06, NSID: 1, DataLen: 64, CDW2: 'k', CDW10: 64, CDW11: 1}},
		{"kv delete", SetKV, m(NewKVDelete(1, []byte("ab"))), Command{Opcode: 0x10, NSID: 1, CDW2: 0x6261, CDW11: 2}},
		{"kv exist", SetKV, m(NewKVExist(1, []byte("ab"))), Command{Opcode: 0x14, NSID: 1, CDW2: 0x6261, CDW11: 2}},
		{"ruh status", SetNVM, m(NewRUHStatus(1, 4096, Limits{})), Command{Opcode: 0x12, NSID: 1, DataLen: 4096, CDW10: 1, CDW11: 1023}},
		{"ruh update", SetNVM, m(NewRUHUpdate(1, 3, Limits{})), Command{Opcode: 0x1d, NSID: 1, DataLen: 6, CDW10: 0x20001}},
		{"identify controller", SetAdmin, m(NewIdentify(CNSController, IdentifyOptions{})),
			Command{Opcode: 0x06, DataLen: 4096, CDW10: 1}},
		{"identify zoned namespace", SetAdmin, m(NewIdentify(CNSSetNamespace, IdentifyOptions{NSID: 3, CNTID: 4, SpecificID: 5, CSI: SetZNS, UUIDIndex: 6})),
			Command{Opcode: 0x06, NSID: 3, DataLen: 4096, CDW10: 0x40005, CDW11: 0x02000005, CDW14: 6}},
		{"get log page", SetAdmin, m(NewGetLogPage(LogSMART, 512, LogOptions{NSID: AllNamespaces})),
			Command{Opcode: 0x02, NSID: 0xffffffff, DataLen: 512, CDW10: 0x007f0002}},
		{"get log page, long", SetAdmin, m(NewGetLogPage(LogTelemetryHost, 0x80000, LogOptions{Offset: 0x1_0000_0200, LSP: 1, LSI: 9, RAE: true, CSI: SetZNS, UUIDIndex: 7})),
			Command{Opcode: 0x02, DataLen: 0x80000, CDW10: 0xffff8107, CDW11: 0x00090001, CDW12: 0x200, CDW13: 1, CDW14: 0x02000007}},
		{"get log page by index", SetAdmin, m(NewGetLogPage(LogLBAStatus, 4, LogOptions{Offset: 3, ByIndex: true})),
			Command{Opcode: 0x02, DataLen: 4, CDW10: 0x0e, CDW12: 3, CDW14: 0x00800000}},
		{"get features", SetAdmin, m(NewGetFeatures(1, FeatHostMemoryBuffer, FeatureDefault, 5, 4096)),
			Command{Opcode: 0x0a, NSID: 1, DataLen: 4096, CDW10: 0x10d, CDW11: 5}},
		{"set features", SetAdmin, NewSetFeatures(1, FeatErrorRecovery, 0x10000, FeatureOptions{Save: true, CDW12: 1, CDW13: 2, CDW14: 4, CDW15: 3, Length: 8}),
			Command{Opcode: 0x09, NSID: 1, DataLen: 8, CDW10: 0x80000005, CDW11: 0x10000, CDW12: 1, CDW13: 2, CDW14: 4, CDW15: 3}},
	}
}

func TestBuilders(t *testing.T) {
	var golden strings.Builder
	layouts := map[string]Layout{
		"read extended":     {LBASize: 4096, MetadataSize: 64, Extended: true},
		"read separate PI":  {LBASize: 512, MetadataSize: 8, PI: PIType1},
		"write PRACT":       {LBASize: 512, MetadataSize: 8, PI: PIType1},
		"zone append":       {LBASize: 512, MetadataSize: 8, PI: PIType1},
		"write storage tag": {LBASize: 4096, MetadataSize: 16, PI: PIType2, PIFormat: Guard64, StorageTagBits: 16},
	}
	for _, tc := range builderCases(t) {
		require.Equal(t, tc.want, tc.got, tc.name)
		l, ok := layouts[tc.name]
		if !ok {
			l = Layout{LBASize: 512}
		}
		require.NoError(t, Check(&tc.got, l, Limits{Set: tc.set}), "%s passes Check", tc.name)
		fmt.Fprintf(&golden, "%s: %s\n", tc.name, tc.got.Text(tc.set))
		sqe := hex.EncodeToString(tc.got.AppendSQE(nil))
		for len(sqe) > 0 {
			fmt.Fprintf(&golden, "  %s\n", sqe[:32])
			sqe = sqe[32:]
		}
	}
	file := filepath.Join("testdata", "commands.golden")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(golden.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), golden.String())
}

func TestBuildersRefuse(t *testing.T) {
	plain := Layout{LBASize: 512}
	pi := Layout{LBASize: 512, MetadataSize: 8, PI: PIType1}
	one := []CopyRange{{SLBA: 0, NLB: 1}}
	lim := Limits{Blocks: 100, MaxTransfer: 8192, NSID: 1}
	for want, f := range map[string]func() (Command, error){
		"dsm nsid=1: nr: 0 ranges; one command takes 1 to 256": func() (Command, error) { return NewDSM(1, nil, DSMDeallocate, Limits{}) },
		"dsm nsid=1: nr: 257 ranges":                           func() (Command, error) { return NewDSM(1, make([]DSMRange, 257), DSMDeallocate, Limits{}) },
		"dsm nsid=1: cdw11: attributes 0x8":                    func() (Command, error) { return NewDSM(1, []DSMRange{{NLB: 1}}, 8, Limits{}) },
		"dsm nsid=1: nlb: range 1 is empty":                    func() (Command, error) { return NewDSM(1, []DSMRange{{NLB: 1}, {}}, DSMDeallocate, Limits{}) },
		"dsm nsid=1: slba: blocks 0x63 to 0x64 are beyond":     func() (Command, error) { return NewDSM(1, []DSMRange{{SLBA: 99, NLB: 2}}, DSMDeallocate, lim) },
		"copy nsid=1: nr: 0 ranges":                            func() (Command, error) { return NewCopy(1, plain, 0, nil, CopyOptions{}) },
		"copy nsid=1: nr: 257 ranges":                          func() (Command, error) { return NewCopy(1, plain, 0, make([]CopyRange, 257), CopyOptions{}) },
		"copy nsid=1: desfmt: source range format 4":           func() (Command, error) { return NewCopy(1, plain, 0, one, CopyOptions{Format: 4}) },
		"copy nsid=1: layout:":                                 func() (Command, error) { return NewCopy(1, Layout{}, 0, one, CopyOptions{}) },
		"copy nsid=1: nlb: range 0 has 65537 blocks":           func() (Command, error) { return NewCopy(1, plain, 0, []CopyRange{{NLB: 65537}}, CopyOptions{}) },
		"copy nsid=1: snsid: range 0 names no source":          func() (Command, error) { return NewCopy(1, plain, 0, one, CopyOptions{Format: CopyFormat2}) },
		"copy nsid=1: snsid: range 0 has a source namespace":   func() (Command, error) { return NewCopy(1, plain, 0, []CopyRange{{NSID: 2, NLB: 1}}, CopyOptions{}) },
		"copy nsid=1: slba: blocks 0x64 to 0x64": func() (Command, error) {
			return NewCopy(1, plain, 100, one, CopyOptions{Write: IOOptions{Limits: lim}})
		},
		"copy nsid=1: slba: blocks 0x63 to 0x65": func() (Command, error) {
			return NewCopy(1, plain, 0, []CopyRange{{SLBA: 99, NLB: 3}}, CopyOptions{Write: IOOptions{Limits: lim}})
		},
		"copy nsid=1: dsm: access hint": func() (Command, error) {
			return NewCopy(1, plain, 0, one, CopyOptions{Write: IOOptions{Hint: HintOneTimeRead}})
		},
		"copy nsid=1: prinfor: the namespace (512)": func() (Command, error) { return NewCopy(1, plain, 0, one, CopyOptions{ReadPRACT: true}) },
		"copy nsid=1: prinfor: PRCHK 9":             func() (Command, error) { return NewCopy(1, pi, 0, one, CopyOptions{ReadPRCHK: 9}) },
		"copy nsid=1: prinfo: the namespace": func() (Command, error) {
			return NewCopy(1, plain, 0, one, CopyOptions{Write: IOOptions{PRCHK: CheckApp}})
		},
		"copy nsid=1: prinfor: protection type 3 has no reference tag check": func() (Command, error) {
			return NewCopy(1, Layout{LBASize: 512, MetadataSize: 8, PI: PIType3}, 0, one, CopyOptions{ReadPRCHK: CheckRef})
		},
		"copy nsid=1: desfmt: source range format 1 does not fit layout 512+8 separate PI type 1 guard 16: a guard of 16 bits": func() (Command, error) {
			return NewCopy(1, pi, 0, one, CopyOptions{Format: CopyFormat1})
		},
		"copy nsid=1: desfmt: source range format 0 does not fit layout 512+16 separate PI type 1 guard 64": func() (Command, error) {
			return NewCopy(1, Layout{LBASize: 512, MetadataSize: 16, PI: PIType1, PIFormat: Guard64}, 0, one, CopyOptions{})
		},
		"copy nsid=1: nr: 3 ranges; the namespace takes at most 2 in one command (MSRC)": func() (Command, error) {
			return NewCopy(1, plain, 0, []CopyRange{{NLB: 1}, {NLB: 1}, {NLB: 1}}, CopyOptions{Limits: CopyLimits{Ranges: 2}})
		},
		"copy nsid=1: nlb: range 1 has 9 blocks; the namespace takes at most 8 in one range (MSSRL)": func() (Command, error) {
			return NewCopy(1, plain, 0, []CopyRange{{NLB: 8}, {NLB: 9}}, CopyOptions{Limits: CopyLimits{RangeBlocks: 8}})
		},
		"copy nsid=1: nlb: 17 blocks in all; the namespace takes at most 16 in one command (MCL)": func() (Command, error) {
			return NewCopy(1, plain, 0, []CopyRange{{NLB: 8}, {NLB: 9}}, CopyOptions{Limits: CopyLimits{Blocks: 16}})
		},
		"copy nsid=1: data_len: 64 bytes exceed the limit of 63": func() (Command, error) {
			return NewCopy(1, plain, 0, []CopyRange{{NLB: 1}, {NLB: 1}}, CopyOptions{Write: IOOptions{Limits: Limits{MaxTransfer: 63}}})
		},
		"dsm nsid=1: data_len: 32 bytes exceed the limit of 16": func() (Command, error) {
			return NewDSM(1, []DSMRange{{NLB: 1}, {NLB: 1}}, DSMDeallocate, Limits{MaxTransfer: 16})
		},
		"copy nsid=1: dtype:":                                               func() (Command, error) { return NewCopy(1, plain, 0, one, CopyOptions{Write: IOOptions{DSPEC: 1}}) },
		"zone-mgmt-send nsid=1: sel: action 0x11":                           func() (Command, error) { return NewZoneSend(1, 0, ZoneFlushZRWA, ZoneSendOptions{All: true}) },
		"zone-mgmt-send nsid=1: zsaso: action 0x04":                         func() (Command, error) { return NewZoneSend(1, 0, ZoneReset, ZoneSendOptions{ZRWA: true}) },
		"zone-mgmt-send nsid=1: data_len: 64 bytes":                         func() (Command, error) { return NewZoneSend(1, 0, ZoneReset, ZoneSendOptions{ExtensionLen: 64}) },
		"zone-mgmt-send nsid=1: data_len: 0 bytes":                          func() (Command, error) { return NewZoneSend(1, 0, ZoneSetDescExtension, ZoneSendOptions{}) },
		"zone-mgmt-send nsid=1: slba: blocks 0x64":                          func() (Command, error) { return NewZoneSend(1, 100, ZoneReset, ZoneSendOptions{Limits: lim}) },
		"zone-mgmt-recv nsid=1: data_len: 60 bytes; a zone report takes 64": func() (Command, error) { return NewZoneReport(1, 0, ZonesAll, false, 60, Limits{}) },
		"zone-mgmt-recv nsid=1: data_len: 16384 bytes exceed":               func() (Command, error) { return NewZoneReport(1, 0, ZonesAll, false, 16384, lim) },
		"zone-mgmt-recv nsid=1: slba: blocks 0xc8":                          func() (Command, error) { return NewZoneReport(1, 200, ZonesAll, false, 4096, lim) },
		"kv-store nsid=1: key: 0 bytes; a key has 1 to 16":                  func() (Command, error) { return NewKVStore(1, nil, 1, 0) },
		"kv-store nsid=1: key: 17 bytes":                                    func() (Command, error) { return NewKVStore(1, make([]byte, 17), 1, KVMustExist) },
		"kv-store nsid=1: cdw11: store options 0x03":                        func() (Command, error) { return NewKVStore(1, []byte("a"), 1, KVMustExist|KVMustNotExist) },
		"kv-delete nsid=1: key: 17 bytes":                                   func() (Command, error) { return NewKVDelete(1, make([]byte, 17)) },
		"kv-list nsid=1: key: 17 bytes":                                     func() (Command, error) { return NewKVList(1, make([]byte, 17), 64) },
		"kv-list nsid=1: data_len: 2 bytes":                                 func() (Command, error) { return NewKVList(1, nil, 2) },
		"io-mgmt-recv nsid=1: data_len: 0 bytes":                            func() (Command, error) { return NewRUHStatus(1, 0, Limits{}) },
		"io-mgmt-recv nsid=1: data_len: 16384 bytes exceed":                 func() (Command, error) { return NewRUHStatus(1, 16384, lim) },
		"io-mgmt-send nsid=1: npid: 0 placement identifiers":                func() (Command, error) { return NewRUHUpdate(1, 0, Limits{}) },
		"identify nsid=0: uuid: index 128":                                  func() (Command, error) { return NewIdentify(CNSController, IdentifyOptions{UUIDIndex: 128}) },
		"get-log-page nsid=0: data_len: 6 bytes of log 0x02":                func() (Command, error) { return NewGetLogPage(LogSMART, 6, LogOptions{}) },
		"get-log-page nsid=0: data_len: 0 bytes of log 0x02":                func() (Command, error) { return NewGetLogPage(LogSMART, 0, LogOptions{}) },
		"get-log-page nsid=0: lpo: offset 2 of log 0x02":                    func() (Command, error) { return NewGetLogPage(LogSMART, 4, LogOptions{Offset: 2}) },
		"get-log-page nsid=0: lsp: 128 is beyond 127":                       func() (Command, error) { return NewGetLogPage(LogSMART, 4, LogOptions{LSP: 128}) },
		"get-log-page nsid=0: uuid: index 200":                              func() (Command, error) { return NewGetLogPage(LogSMART, 4, LogOptions{UUIDIndex: 200}) },
		"get-features nsid=0: sel: 4 is not 0":                              func() (Command, error) { return NewGetFeatures(0, FeatHCTM, 4, 0, 0) },
	} {
		c, err := f()
		require.ErrorContains(t, err, want)
		require.Equal(t, Command{}, c, want)
		var bad *CommandError
		require.ErrorAs(t, err, &bad)
		require.NotEmpty(t, bad.Field)
	}
}

func TestDSMRangeEncoding(t *testing.T) {
	r := DSMRange{Attributes: 0x01020304, NLB: 0x05060708, SLBA: 0x1112131415161718}
	b := r.AppendTo(nil)
	require.Equal(t, "04030201"+"08070605"+"1817161514131211", hex.EncodeToString(b))
	back, err := DecodeDSMRange(b)
	require.NoError(t, err)
	require.Equal(t, r, back)
	_, err = DecodeDSMRange(b[:15])
	require.EqualError(t, err, "dataset management range needs 16 bytes, given 15")
}

func TestCopyRangeEncoding(t *testing.T) {
	pi16 := Layout{LBASize: 512, MetadataSize: 8, PI: PIType1}
	pi64 := Layout{LBASize: 4096, MetadataSize: 16, PI: PIType1, PIFormat: Guard64, StorageTagBits: 16}
	pi32 := Layout{LBASize: 4096, MetadataSize: 16, PI: PIType1, PIFormat: Guard32, StorageTagBits: 16}
	for _, tc := range []struct {
		f    CopyFormat
		l    Layout
		r    CopyRange
		want string
	}{
		{CopyFormat0, pi16, CopyRange{SLBA: 0x1112131415161718, NLB: 0x100, RefTag: 0xaabbccdd, AppTag: 0x0102, AppMask: 0x0304},
			"0000000000000000" + "1817161514131211" + "ff00" + "000000000000" + "ddccbbaa" + "0201" + "0403"},
		{CopyFormat2, pi16, CopyRange{NSID: 0x21222324, SLBA: 1, NLB: 1, FastOnly: true},
			"2423222100000000" + "0100000000000000" + "0000" + "00000000" + "0080" + "00000000" + "0000" + "0000"},
		{CopyFormat1, pi64, CopyRange{SLBA: 1, NLB: 65536, RefTag: 0x31323334, StorageTag: 0x4142, AppTag: 5, AppMask: 6},
			"0000000000000000" + "0100000000000000" + "ffff" + "0000000000000000" + "00000000414231323334" + "0500" + "0600"},
		{CopyFormat3, pi32, CopyRange{NSID: 7, SLBA: 1, NLB: 2, RefTag: 0x3132333435363738, StorageTag: 0x4142},
			"0700000000000000" + "0100000000000000" + "0100" + "0000000000000000" + "41423132333435363738" + "0000" + "0000"},
	} {
		b := tc.r.AppendTo(nil, tc.f, tc.l)
		require.Len(t, b, int(tc.f.EntrySize()))
		require.Equal(t, tc.want, hex.EncodeToString(b))
		back, err := DecodeCopyRange(b, tc.f, tc.l)
		require.NoError(t, err)
		require.Equal(t, tc.r, back)
		_, err = DecodeCopyRange(b[:len(b)-1], tc.f, tc.l)
		require.ErrorContains(t, err, "copy source range needs")
	}
	_, err := DecodeCopyRange(make([]byte, 64), 4, pi16)
	require.ErrorContains(t, err, "source range format 4 is not known")
	require.Zero(t, CopyFormat(9).EntrySize())
}

func TestCheckOtherCommands(t *testing.T) {
	l := Layout{LBASize: 512}
	lim := Limits{NSID: 1, Blocks: 100, MaxTransfer: 4096}
	for want, tc := range map[string]struct {
		set CommandSet
		c   Command
	}{
		"flags: 0x40":                                                                  {SetNVM, Command{Opcode: OpRead, NSID: 1, Flags: 0x40}},
		"nsid: the node belongs to namespace 1":                                        {SetNVM, Command{Opcode: 0x99, NSID: 2}},
		"data_len: 8192 bytes exceed":                                                  {SetNVM, Command{Opcode: 0x99, NSID: 1, DataLen: 8192}},
		"flush nsid=1: data_len: 1 bytes instead":                                      {SetNVM, Command{Opcode: OpFlush, NSID: 1, DataLen: 1}},
		"verify nsid=1: metadata_len: 1":                                               {SetNVM, Command{Opcode: OpVerify, NSID: 1, MetadataLen: 1}},
		"verify nsid=1: slba":                                                          {SetNVM, Command{Opcode: OpVerify, NSID: 1, CDW10: 100}},
		"write-zeroes nsid=1: data_len: 512":                                           {SetNVM, Command{Opcode: OpWriteZeroes, NSID: 1, DataLen: 512}},
		"dsm nsid=1: data_len: 16 bytes do not hold":                                   {SetNVM, Command{Opcode: OpDSM, NSID: 1, DataLen: 16, CDW10: 1}},
		"dsm nsid=1: metadata_len: 8 bytes":                                            {SetNVM, Command{Opcode: OpDSM, NSID: 1, DataLen: 16, MetadataLen: 8}},
		"copy nsid=1: data_len: 32 bytes do not":                                       {SetNVM, Command{Opcode: OpCopy, NSID: 1, DataLen: 32, CDW12: 0x100}},
		"copy nsid=1: cdw12: source range format 9":                                    {SetNVM, Command{Opcode: OpCopy, NSID: 1, DataLen: 32, CDW12: 0x900}},
		"copy nsid=1: slba":                                                            {SetNVM, Command{Opcode: OpCopy, NSID: 1, DataLen: 32, CDW10: 100}},
		"dsm nsid=1: data_len: 8192 bytes exceed":                                      {SetNVM, Command{Opcode: OpDSM, NSID: 1, DataLen: 8192}},
		"zone-mgmt-send nsid=1: slba":                                                  {SetZNS, Command{Opcode: OpZoneMgmtSend, NSID: 1, CDW10: 100, CDW13: uint32(ZoneOpen)}},
		"zone-mgmt-send nsid=1: data_len: 64 bytes instead of 0":                       {SetZNS, Command{Opcode: OpZoneMgmtSend, NSID: 1, DataLen: 64, CDW13: uint32(ZoneOpen)}},
		"zone-mgmt-send nsid=1: data_len: 63 bytes":                                    {SetZNS, Command{Opcode: OpZoneMgmtSend, NSID: 1, DataLen: 63, CDW13: uint32(ZoneSetDescExtension)}},
		"zone-mgmt-send nsid=1: metadata_len: 8 bytes":                                 {SetZNS, Command{Opcode: OpZoneMgmtSend, NSID: 1, DataLen: 64, MetadataLen: 8, CDW13: uint32(ZoneSetDescExtension)}},
		"zone-mgmt-recv nsid=1: metadata_len: 8 bytes":                                 {SetZNS, Command{Opcode: OpZoneMgmtRecv, NSID: 1, DataLen: 4, MetadataLen: 8}},
		"io-mgmt-send nsid=1: data_len: 2 bytes instead of 4":                          {SetNVM, Command{Opcode: OpIOMgmtSend, NSID: 1, DataLen: 2, CDW10: 1<<16 | 1}},
		"reservation-register nsid=1: data_len: 8 bytes instead of 16":                 {SetNVM, Command{Opcode: OpReservationReg, NSID: 1, DataLen: 8}},
		"reservation-release nsid=1: data_len: 16 bytes instead of 8":                  {SetNVM, Command{Opcode: OpReservationRelease, NSID: 1, DataLen: 16}},
		"reservation-report nsid=1: data_len: 4 bytes, but cdw10 asks for 2":           {SetNVM, Command{Opcode: OpReservationReport, NSID: 1, DataLen: 4, CDW10: 1}},
		"io-mgmt-recv nsid=1: data_len: 8 bytes, but cdw11 asks for 1 dwords, 4 bytes": {SetNVM, Command{Opcode: OpIOMgmtRecv, NSID: 1, DataLen: 8}},
		"zone-mgmt-recv nsid=1: data_len: 8 bytes, but cdw12 asks for 1 dwords":        {SetZNS, Command{Opcode: OpZoneMgmtRecv, NSID: 1, DataLen: 8}},
		"kv-store nsid=1: data_len: 8 bytes, but cdw10 names a host buffer of 9":       {SetKV, Command{Opcode: OpKVStore, NSID: 1, DataLen: 8, CDW10: 9}},
		"kv-delete nsid=1: data_len: 8 bytes instead of 0":                             {SetKV, Command{Opcode: OpKVDelete, NSID: 1, DataLen: 8}},
		"identify nsid=1: data_len: 512 bytes; the controller transfers 4096":          {SetAdmin, Command{Opcode: AdminIdentify, NSID: 1, DataLen: 512}},
		"get-log-page nsid=1: data_len: 4 bytes, but cdw10 asks for 65537 dwords":      {SetAdmin, Command{Opcode: AdminGetLogPage, NSID: 1, DataLen: 4, CDW11: 1}},
		"ns-attach nsid=1: data_len: 2 bytes; the controller transfers 4096":           {SetAdmin, Command{Opcode: AdminNSAttach, NSID: 1, DataLen: 2}},
		"ns-mgmt nsid=1: data_len: 512 bytes instead of 4096":                          {SetAdmin, Command{Opcode: AdminNSMgmt, NSID: 1, DataLen: 512}},
		"ns-mgmt nsid=1: data_len: 4096 bytes instead of 0: only operation 0":          {SetAdmin, Command{Opcode: AdminNSMgmt, NSID: 1, DataLen: 4096, CDW10: 1}},
		"fw-download nsid=1: data_len: 4096 bytes, but cdw10 asks for 1 dwords":        {SetAdmin, Command{Opcode: AdminFWDownload, NSID: 1, DataLen: 4096}},
		"get-lba-status nsid=1: data_len: 8 bytes, but cdw12 asks for 1 dwords":        {SetAdmin, Command{Opcode: AdminGetLBAStatus, NSID: 1, DataLen: 8}},
		"directive-recv nsid=1: data_len: 0 bytes, but cdw10 asks for 8 dwords":        {SetAdmin, Command{Opcode: AdminDirectiveRecv, NSID: 1, CDW10: 7}},
		"directive-send nsid=1: data_len: 8 bytes, but cdw10 asks for 1 dwords":        {SetAdmin, Command{Opcode: AdminDirectiveSend, NSID: 1, DataLen: 8}},
		"security-recv nsid=1: data_len: 512 bytes, but cdw11 names a host buffer":     {SetAdmin, Command{Opcode: AdminSecurityRecv, NSID: 1, DataLen: 512, CDW11: 4096}},
		"format-nvm nsid=1: data_len: 4 bytes instead of 0":                            {SetAdmin, Command{Opcode: AdminFormatNVM, NSID: 1, DataLen: 4}},
		"get-features nsid=1: data_len: 0 bytes, but feature 0x0e moves 8":             {SetAdmin, Command{Opcode: AdminGetFeatures, NSID: 1, CDW10: uint32(FeatTimestamp)}},
		"get-features nsid=1: data_len: 8 bytes, but feature 0x81 moves 16":            {SetAdmin, Command{Opcode: AdminGetFeatures, NSID: 1, DataLen: 8, CDW10: uint32(FeatHostID), CDW11: 1}},
		"set-features nsid=1: data_len: 4 bytes, but feature 0x0c moves 256":           {SetAdmin, Command{Opcode: AdminSetFeatures, NSID: 1, DataLen: 4, CDW10: 1<<31 | uint32(FeatAPST)}},
	} {
		lim.Set = tc.set
		require.ErrorContains(t, Check(&tc.c, l, lim), want)
	}
	require.NoError(t, Check(&Command{Opcode: 0x99, NSID: 1, DataLen: 4096}, Layout{}, Limits{}), "unknown commands pass")
	for _, c := range []Command{
		{Opcode: AdminNSMgmt, DataLen: 4096}, {Opcode: AdminNSMgmt, CDW10: 1}, {Opcode: AdminDirectiveSend}, {Opcode: AdminDirectiveRecv, DataLen: 32, CDW10: 7},
		{Opcode: AdminSecuritySend, DataLen: 512, CDW11: 512}, {Opcode: AdminFWDownload, DataLen: 8, CDW10: 1}, {Opcode: AdminGetFeatures, CDW10: uint32(FeatHCTM)},
		{Opcode: AdminGetFeatures, CDW10: uint32(FeatureSupported)<<8 | uint32(FeatTimestamp)}, {Opcode: AdminGetFeatures, DataLen: 4096, CDW10: uint32(FeatTimestamp)},
		{Opcode: AdminSetFeatures, CDW10: uint32(FeatHostMemoryBuffer)}, {Opcode: AdminSanitize}, {Opcode: AdminCtrlDataQueue, DataLen: 12},
	} {
		require.NoError(t, Check(&c, Layout{}, Limits{Set: SetAdmin}), c.Text(SetAdmin))
	}
}

func TestFeatureSelectNames(t *testing.T) {
	for want, s := range map[string]FeatureSelect{"current": 0, "default": 1, "saved": 2, "supported": 3, "unknown (7)": 7} {
		require.Equal(t, want, s.String())
	}
}
