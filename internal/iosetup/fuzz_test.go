package iosetup

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag"
)

// refused checks that err says which flag, what was given and what to give.
func refused(t *testing.T, err error, flag string) {
	t.Helper()
	var usage *badflag.Error
	require.ErrorAs(t, err, &usage)
	require.Equal(t, flag, usage.Flag)
	require.NotEmpty(t, usage.Value)
	require.NotEmpty(t, usage.Problem)
	require.NotEmpty(t, usage.Remedy)
}

// FuzzParseDepths: whatever is accepted is valid and reads back from its own
// text, alone, as a list and as JSON.
func FuzzParseDepths(f *testing.F) {
	for _, seed := range []string{"1_1,8_2,16_4,128_32", "8", "8_9", "4097_1", "0_0", "8_2,8_2", "8_2,08_02", " 7_7 ", "_", ",", "1_1\x00", "９_1", "18446744073709551617_1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		depths, err := ParseDepths(in)
		if err != nil {
			refused(t, err, "--depths")
			return
		}
		texts := make([]string, len(depths))
		for i, d := range depths {
			require.True(t, d.Batch >= 1 && d.Batch <= d.QD && d.QD <= MaxQD, d)
			require.NotContains(t, depths[:i], d)
			texts[i] = d.String()
		}
		again, err := ParseDepths(strings.Join(texts, ","))
		require.NoError(t, err)
		require.Equal(t, depths, again)
		doc, err := json.Marshal(depths)
		require.NoError(t, err)
		var back []Depth
		require.NoError(t, json.Unmarshal(doc, &back))
		require.Equal(t, depths, back)
	})
}

// FuzzParsePaths: known paths, each once, in the order given.
func FuzzParsePaths(f *testing.F) {
	for _, seed := range []string{"block,passthru", "block, passthru-poll ,block-poll", "block,block", "", ",", "BLOCK", "block;passthru", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		paths, err := ParsePaths(in)
		if err != nil {
			refused(t, err, "--paths")
			return
		}
		var names []string
		for i, p := range paths {
			require.Contains(t, AllPaths(), p)
			require.NotContains(t, paths[:i], p)
			names = append(names, string(p))
		}
		require.Equal(t, strings.Join(names, ","), strings.ReplaceAll(strings.Join(strings.Fields(in), ""), " ", ""))
	})
}

// FuzzMode: a batching rule or a switch that is not known is refused by name; a
// switch that is known changes itself, and setting it again changes nothing.
func FuzzMode(f *testing.F) {
	f.Add("fio", true)
	f.Add("tio", false)
	for _, p := range AllPaths() {
		for _, name := range Variants(DefaultMode(), p) {
			f.Add(name, true)
		}
	}
	for _, s := range []string{"--fixedbufs", "fixedbufs=maybe", "--=true", "----fixedbufs=false"} {
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, in string, base bool) {
		if rule, err := ParseBatchRule(in); err != nil {
			refused(t, err, "--batch-rule")
		} else {
			require.Contains(t, []BatchRule{RuleFio, RuleTIOUring}, rule)
		}
		m := DefaultMode()
		if base {
			m = Mode{}
		}
		turned, err := ModeVariant(m, in)
		if err != nil {
			refused(t, err, "variant")
			require.Equal(t, m, turned)
			return
		}
		again, err := ModeVariant(turned, in)
		require.NoError(t, err)
		require.Equal(t, turned, again)
		if turned != m {
			changed := 0
			for _, s := range Switches() {
				if s.On(m) != s.On(turned) {
					changed++
				}
			}
			require.Positive(t, changed, "%q changed what no switch shows", in)
		}
	})
}
