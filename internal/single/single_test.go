package single

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// TestEntryIsTheLibrarys: the fields lie without gaps, and the command's part of
// them is what the library sends, but for addresses.
func TestEntryIsTheLibrarys(t *testing.T) {
	r := &Request{Command: nvme.Command{
		Opcode: 2, NSID: 3, CDW2: 4, CDW3: 5, MetadataLen: 6, DataLen: 7, CDW10: 8, CDW11: 9, CDW12: 10, CDW13: 11, CDW14: 12, CDW15: 13, TimeoutMS: 14,
	}}
	s := EncodeSQE(r)
	at := 0
	for _, f := range s.Fields {
		require.Equal(t, at, f.Offset, f.Name)
		at += f.Size
	}
	require.Equal(t, SQESize, at)
	b, err := hex.DecodeString(s.Bytes)
	require.NoError(t, err)
	image := make([]byte, nvme.CommandSize)
	require.NoError(t, r.Command.Image(image))
	require.Equal(t, image, b[48:48+nvme.CommandSize])
	require.Equal(t, hex.EncodeToString(r.Command.AppendSQE(nil)), s.Drive)
}

// TestHarmlessIsTheLibrarys: what this package takes for harmless is what a
// Device that is open for reading only sends.
func TestHarmlessIsTheLibrarys(t *testing.T) {
	d, err := passthru.OpenNull(passthru.NullConfig{Config: passthru.Config{AllowIoctl: true}})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	target := DeviceTarget(d)
	for op := range 256 {
		r, err := rawIO(&Options{Opcode: uint8(op)}, &target, &Source{})
		require.NoError(t, err)
		c := nvme.Command{Opcode: nvme.Opcode(op), NSID: d.NSID(), DataLen: 4} // without its data, so that nothing is sent
		_, err = d.Do(context.Background(), c, nil)
		require.Error(t, err)
		require.Equal(t, errors.Is(err, passthru.ErrReadOnly), r.Effect == Writes, "%#x: %v", op, err)
	}
}

// TestPrepareRefuses: options that cannot be used are named, with what to do.
func TestPrepareRefuses(t *testing.T) {
	separate := nvme.Layout{LBASize: 512, MetadataSize: 8}
	for _, tt := range []struct {
		verb   string
		o      Options
		t      *Target
		in     Source
		says   string
		byNVMe bool
	}{
		{"io read", Options{NSID: 2}, drive(plain), Source{}, "--namespace-id 2: /dev/ng0n1 is namespace 1", false},
		{"io read", Options{}, &Target{}, Source{}, "--namespace-id: read is for a namespace", false},
		{"io read", Options{}, &Target{NSID: 1}, Source{}, "--layout: without a device", false},
		{"io read", Options{Blocks: 65537}, drive(plain), Source{}, "--blocks 65537: one command covers 1 to 65536 blocks", false},
		{"io read", Options{DataSize: 100}, drive(plain), Source{}, "--data-size 100: ", false},
		{"io read", Options{DataSize: 1024, Blocks: 1}, drive(plain), Source{}, "that is 2 blocks of layout 512, and --blocks says 1", false},
		{"io read", Options{MetadataSize: 9}, drive(separate), Source{}, "--metadata-size 9: 1 blocks of layout 512+8 separate have 8 bytes", false},
		{"io read", Options{PRInfo: 16}, drive(plain), Source{}, "--prinfo 16", false},
		{"io write", Options{DirType: 16, Blocks: 1}, drive(plain), Source{}, "--dir-type 16", false},
		{"io read", Options{StartBlock: 1 << 40}, drive(plain), Source{}, "slba", true},
		{"io read", Options{PRInfo: 7}, drive(plain), Source{}, "prinfo", true},
		{"io write", Options{Blocks: 1}, drive(plain), Source{Data: strings.NewReader("abc")}, "--data: 3 bytes of data for a command that moves 512", false},
		{"io write", Options{Blocks: 1}, drive(plain), Source{Data: bytes.NewReader(make([]byte, 513))}, "--data: more data than the 512 bytes", false},
		{"io write", Options{}, drive(plain), Source{Data: bytes.NewReader(make([]byte, 513))}, "--data-size 513", false},
		{"io write", Options{Blocks: 1}, drive(separate), Source{Data: bytes.NewReader(make([]byte, 512))}, "--metadata: 0 bytes of metadata for a command that moves 8", false},
		{"io write", Options{Blocks: 1}, drive(plain), Source{Dry: true, Metadata: strings.NewReader("")}, "--metadata: layout 512 moves no separate metadata", false},
		{"io trim", Options{Ranges: []string{"5"}}, drive(plain), Source{}, `--range "5": is no range`, false},
		{"io trim", Options{Ranges: []string{"5:0"}}, drive(plain), Source{}, `--range "5:0"`, false},
		{"io trim", Options{Ranges: []string{"5:1"}, Blocks: 1}, drive(plain), Source{}, "--start-block and --blocks say a range already", false},
		{"io trim", Options{Blocks: 1 << 32}, drive(plain), Source{}, "--blocks 4294967296", false},
		{"io copy", Options{Ranges: []string{"5:65537"}}, drive(plain), Source{}, "--blocks 65537: a source range", false},
		{"io zone-report", Options{State: "x"}, drive(plain), Source{}, `--state "x": is no state of a zone; give all, closed`, false},
		{"io zone-report", Options{Descriptors: 1 << 20}, drive(plain), Source{}, "--descs 1048576", false},
		{"io zone-report", Options{Extended: true}, &Target{NSID: 1, Layout: plain}, Source{}, "--extended: the zones", false},
		{"io raw", Options{Read: true, Write: true}, drive(plain), Source{}, "--read: data cannot move both ways", false},
		{"io raw", Options{Opcode: 1, Read: true}, drive(plain), Source{}, "--read: bit 0 of opcode 0x01 says that data moves to the drive", false},
		{"io raw", Options{Opcode: 2, Write: true}, drive(plain), Source{}, "--write: bit 0 of opcode 0x02 says that data moves from the drive", false},
		{"io raw", Options{DataLen: 1<<30 + 1}, drive(plain), Source{}, "--data-len 1073741825", false},
		{"io raw", Options{Opcode: 2, CDW: [16]uint32{12: 7}, DataLen: 512}, drive(plain), Source{}, "data_len", true},
		{"admin identify", Options{HasCNS: true}, &Target{Set: nvme.SetAdmin}, Source{}, "--namespace-id: structure 0x00 is one of a namespace", false},
		{"admin get-log", Options{LID: 0xc0}, &Target{Set: nvme.SetAdmin}, Source{}, "--log-len: how long log page 0xc0 is, is not known", false},
		{"admin get-log", Options{LID: 2, LogLen: 3}, &Target{Set: nvme.SetAdmin}, Source{}, "--log-len 3", false},
		{"admin get-feature", Options{FID: 2, Select: 4}, &Target{Set: nvme.SetAdmin}, Source{}, "--sel 4", false},
		{"admin set-feature", Options{FID: 2}, &Target{Set: nvme.SetAdmin}, Source{Data: strings.NewReader("")}, "--data-len: feature 0x02", false},
	} {
		_, err := verb(t, tt.verb).Prepare(&tt.o, tt.t, &tt.in)
		require.ErrorContains(t, err, tt.says, "%s %+v", tt.verb, tt.o)
		if tt.byNVMe {
			require.ErrorAs(t, err, new(*nvme.CommandError))
		} else {
			require.ErrorAs(t, err, new(*badflag.Error))
		}
	}
}

// TestEffects: what a command may change, and where.
func TestEffects(t *testing.T) {
	for _, tt := range []struct {
		verb           string
		o              Options
		effect         Effect
		offset, length uint64
	}{
		{"io read", Options{Blocks: 8}, Reads, 0, 0},
		{"io compare", Options{Blocks: 8}, Reads, 0, 0},
		{"io write", Options{StartBlock: 4, Blocks: 8}, Writes, 2048, 4096},
		{"io write-zeroes", Options{StartBlock: 4, Blocks: 8}, Writes, 2048, 4096},
		{"io trim", Options{Ranges: []string{"100:1", "10:2"}}, Writes, 5120, 91 * 512},
		{"io copy", Options{Ranges: []string{"100:1", "10:2"}, Destination: 4}, Writes, 2048, 3 * 512},
		{"io raw", Options{Opcode: 1, CDW: [16]uint32{10: 4}, DataLen: 512}, Writes, 2048, 512},
		{"io raw", Options{Opcode: 0x91}, Writes, 0, 0},
		{"io raw", Options{Opcode: 2, DataLen: 512}, Reads, 0, 0},
		{"admin raw", Options{Opcode: 6, DataLen: 4096}, Reads, 0, 0},
		{"admin raw", Options{Opcode: 0x10}, Sets, 0, 0},
		{"admin raw", Options{Opcode: 0x80}, Writes, 0, 0},
		{"admin raw", Options{Opcode: 0xc1}, Writes, 0, 0},
	} {
		target := drive(plain)
		if strings.HasPrefix(tt.verb, "admin") {
			target = &Target{NSID: 1, Set: nvme.SetAdmin}
		}
		r, err := verb(t, tt.verb).Prepare(&tt.o, target, &Source{Dry: true})
		require.NoError(t, err, tt.verb)
		require.Equal(t, []any{tt.effect, tt.offset, tt.length}, []any{r.Effect, r.Offset, r.Length}, "%s %+v", tt.verb, tt.o)
	}
}

// TestSource: what is sent is what was given, filled up where that was asked for.
func TestSource(t *testing.T) {
	v := verb(t, "io write")
	fill := byte(0xa5)
	r, err := v.Prepare(&Options{Blocks: 2}, drive(plain), &Source{Data: strings.NewReader("abc"), Prefill: &fill})
	require.NoError(t, err)
	require.Equal(t, append([]byte("abc"), bytes.Repeat([]byte{fill}, 1021)...), r.Data)
	data := bytes.Repeat([]byte("0123456789abcdef"), 96)
	r, err = v.Prepare(&Options{}, drive(plain), &Source{Data: bytes.NewReader(data)})
	require.NoError(t, err)
	require.EqualValues(t, 3, r.Command.NLB())
	require.Equal(t, data, r.Data)
	r, err = verb(t, "io raw").Prepare(&Options{Opcode: 2, DataLen: 512}, drive(plain), &Source{Prefill: &fill})
	require.NoError(t, err)
	require.Equal(t, bytes.Repeat([]byte{fill}, 512), r.Data)
	_, err = v.Prepare(&Options{Blocks: 1}, drive(plain), &Source{Data: broken{}})
	require.ErrorContains(t, err, "read data: broken")
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("broken") }

func TestParseLayout(t *testing.T) {
	for s, want := range map[string]nvme.Layout{
		"lba=512":       {LBASize: 512},
		"lba=4096,ms=8": {LBASize: 4096, MetadataSize: 8},
		"lba=4096, ms=16,extended,pi=3,guard=64,first,sts=48": {LBASize: 4096, MetadataSize: 16, Extended: true, PI: nvme.PIType3, PIFormat: nvme.Guard64, PIFirst: true, StorageTagBits: 48},
	} {
		l, err := ParseLayout(s)
		require.NoError(t, err)
		require.Equal(t, want, l)
	}
	for _, s := range []string{"", "lba", "lba=x", "lba=100", "lba=512,ms=70000", "lba=512,pi=4", "lba=512,guard=8", "lba=512,extended=1", "lba=4096,pi=1", "lba=512,,ms=8"} {
		_, err := ParseLayout(s)
		require.ErrorAs(t, err, new(*badflag.Error), s)
		require.ErrorContains(t, err, "give for example lba=512")
	}
}

func TestHexDump(t *testing.T) {
	b := make([]byte, 100)
	copy(b[96:], "end\x7f")
	var s strings.Builder
	HexDump(&s, b)
	require.Equal(t, "00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n*\n"+
		"00000060  65 6e 64 7f                                       |end.|\n", s.String())
}

// TestDwordsCoverEveryBit: no two parts of a command overlap, and what is not a
// part shows as reserved.
func TestDwordsCoverEveryBit(t *testing.T) {
	check := func(set nvme.CommandSet, op int) {
		r := &Request{Set: set, Layout: plain, Command: nvme.Command{Opcode: nvme.Opcode(op)}}
		used := map[int]uint32{}
		for _, p := range partsOf(r) {
			require.LessOrEqual(t, p.low, p.high)
			mask := uint32(uint64(1)<<(p.high-p.low+1)-1) << p.low
			require.Zero(t, used[p.dword]&mask, "set %v opcode %#x cdw%d %s", set, op, p.dword, p.name)
			used[p.dword] |= mask
		}
	}
	for op := range 256 {
		for _, set := range []nvme.CommandSet{nvme.SetNVM, nvme.SetZNS, nvme.SetKV, nvme.SetAdmin} {
			check(set, op)
		}
	}
	d := DecodeDwords(&Request{Set: nvme.SetAdmin, Command: nvme.Command{Opcode: nvme.AdminIdentify, CDW10: 0x100}})
	require.Equal(t, "reserved", d[2].Parts[2].Name)
}

// TestVerbs: names are one of a kind, and each has what help needs.
func TestVerbs(t *testing.T) {
	for _, verbs := range [][]*Verb{IOVerbs(), AdminVerbs()} {
		seen := map[string]bool{}
		for _, v := range verbs {
			for _, n := range append([]string{v.Name}, v.Aliases...) {
				require.False(t, seen[n], n)
				seen[n] = true
			}
			require.NotEmpty(t, v.Short)
			require.Contains(t, v.Example, v.Name)
			require.NotNil(t, v.build)
		}
	}
}
