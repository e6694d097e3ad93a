package single

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/nvme"
)

// layoutText writes a layout as ParseLayout reads it.
func layoutText(l nvme.Layout) string {
	s := fmt.Sprintf("lba=%d,ms=%d,pi=%d,guard=%d,sts=%d", l.LBASize, l.MetadataSize, l.PI, map[nvme.PIFormat]int{nvme.Guard16: 16, nvme.Guard32: 32, nvme.Guard64: 64}[l.PIFormat], l.StorageTagBits)
	if l.Extended {
		s += ",extended"
	}
	if l.PIFirst {
		s += ",first"
	}
	return s
}

// FuzzParseLayout: a layout that is accepted is valid and reads back from its
// text.
func FuzzParseLayout(f *testing.F) {
	for _, s := range []string{"lba=512", "lba=4096,ms=8,pi=1", "lba=4096,ms=64,extended,pi=2,guard=64,first,sts=16", "lba=0", "lba=5", "lba=4294967296", "ms=8", "lba=512,ms=65536", "lba=512,extended", "lba=", "extended=1", "lba=512,lba=4096", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		l, err := ParseLayout(in)
		if err != nil {
			var bad *badflag.Error
			require.ErrorAs(t, err, &bad)
			require.Equal(t, "--layout", bad.Flag)
			require.NotEmpty(t, bad.Problem)
			require.Equal(t, nvme.Layout{}, l)
			return
		}
		require.NoError(t, l.Validate())
		again, err := ParseLayout(layoutText(l))
		require.NoError(t, err)
		require.Equal(t, l, again)
	})
}

// FuzzRanges: a range has a block at least and reads back from its text, and a
// command made of ranges has exactly those in its data.
func FuzzRanges(f *testing.F) {
	for _, s := range []string{"0x100:8", "0:1", "8:0", "1:2:3", "-1:1", "18446744073709551615:1", "0:4294967296", "a:b", ":", "0b1:0o7", "1_0:1"} {
		f.Add(s, "5:6", uint64(0))
	}
	f.Add("0:1", "0:65536", uint64(3))
	f.Fuzz(func(t *testing.T, a, b string, start uint64) {
		o := &Options{Ranges: []string{a, b}, StartBlock: start}
		ranges, err := o.blockRanges()
		if err != nil {
			var bad *badflag.Error
			require.ErrorAs(t, err, &bad)
			require.Equal(t, "--range", bad.Flag)
			require.NotEmpty(t, bad.Value)
			return
		}
		require.Zero(t, start)
		require.Len(t, ranges, 2)
		var texts []string
		for _, r := range ranges {
			require.Positive(t, r.blocks)
			texts = append(texts, fmt.Sprintf("%d:%d", r.slba, r.blocks))
		}
		again, err := (&Options{Ranges: texts}).blockRanges()
		require.NoError(t, err)
		require.Equal(t, ranges, again)
		target := &Target{NSID: 1, Layout: nvme.Layout{LBASize: 512}, Limits: nvme.Limits{Blocks: 1 << 40}}
		r, err := trim(o, target, nil)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.EqualValues(t, len(r.Data), r.Command.DataLen)
		for i, want := range ranges {
			d, err := nvme.DecodeDSMRange(r.Data[16*i:])
			require.NoError(t, err)
			require.Equal(t, want, blockRange{d.SLBA, uint64(d.NLB)})
			require.LessOrEqual(t, want.slba+want.blocks, uint64(1<<40), "beyond the namespace")
		}
	})
}

// FuzzNames: a word or a number is that byte, and the word for it is read as
// the same byte.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"smart", "0x02", "256", "-1", "controller", "", "0b11", "1_1", "apst", "Smart"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, names := range []Names{CNSNames, LIDNames, FIDNames, {}} {
			v, ok := names.Parse(in)
			if !ok {
				continue
			}
			if word := names.Name(v); word != "" {
				again, ok := names.Parse(word)
				require.True(t, ok)
				require.Equal(t, v, again)
			}
			again, ok := names.Parse(fmt.Sprintf("%#x", v))
			require.True(t, ok)
			require.Equal(t, v, again)
		}
	})
}

// FuzzDwords: of any command in any set, each dword is taken apart without
// overlap, and the parts together are the dword.
func FuzzDwords(f *testing.F) {
	for op := range 256 {
		f.Add(uint8(op), uint8(op%4), bytes.Repeat([]byte{0xa5, 0x01}, 16))
	}
	f.Fuzz(func(t *testing.T, op, set uint8, words []byte) {
		image := make([]byte, 72)
		copy(image[8:], words)
		c, err := nvme.DecodeCommand(image)
		require.NoError(t, err)
		c.Opcode = nvme.Opcode(op)
		r := &Request{Set: []nvme.CommandSet{nvme.SetNVM, nvme.SetZNS, nvme.SetKV, nvme.SetAdmin}[set%4], Command: c}
		for _, d := range DecodeDwords(r) {
			doc, err := json.Marshal(d)
			require.NoError(t, err)
			require.True(t, json.Valid(doc))
			for _, p := range d.Parts {
				require.NotEmpty(t, p.Name)
			}
		}
	})
}

// FuzzDecoded: whatever a drive sends, decoding and rendering do not panic, the
// text is ASCII without control characters, and the JSON is valid.
func FuzzDecoded(f *testing.F) {
	f.Add(uint8(0), uint8(0), []byte("x"))
	f.Add(uint8(0), uint8(1), append(make([]byte, 4), "SERIAL\x1b[2J\u202e=cmd()"...))
	f.Add(uint8(1), uint8(5), bytes.Repeat([]byte{0xff}, 4096))
	f.Add(uint8(1), uint8(2), bytes.Repeat([]byte{0xff}, 512))
	f.Add(uint8(2), uint8(1), bytes.Repeat([]byte{7}, 4096))
	f.Fuzz(func(t *testing.T, kind, id uint8, b []byte) {
		for _, size := range []int{len(b), nvme.IdentifySize} { // the fuzzer rarely finds a page's length by itself
			data := append(bytes.Clone(b), make([]byte, max(0, size-len(b)))...)[:size]
			r := &Request{Set: nvme.SetAdmin, Data: data, Command: nvme.Command{Opcode: nvme.AdminIdentify}}
			switch kind % 3 {
			case 0:
				r.decode = identifyDecoder(nvme.CNS(id), nvme.SetNVM)
			case 1:
				r.decode = logDecoder(nvme.LID(id))
			default:
				r.decode = identifyDecoder(nvme.CNS(id), nvme.SetZNS)
			}
			d := NewDocument(r, "")
			d.Finish(r, 0, 0, false, nil, "", "")
			var out bytes.Buffer
			require.NoError(t, Text(&out, d))
			require.Equal(t, -1, strings.IndexFunc(out.String(), func(c rune) bool { return c != '\n' && (c < ' ' || c > '~') }), "%q", out.String())
			doc, err := json.Marshal(d)
			require.NoError(t, err)
			require.True(t, json.Valid(doc))
		}
	})
}
