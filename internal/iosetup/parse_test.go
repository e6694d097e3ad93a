package iosetup

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/badflag/badflagtest"
)

func TestParsePaths(t *testing.T) {
	got, err := ParsePaths("block, passthru,passthru-poll,block-poll")
	require.NoError(t, err)
	require.Equal(t, AllPaths(), got)

	got, err = ParsePaths("block-poll,block")
	require.NoError(t, err)
	require.Equal(t, []Path{BlockPoll, Block}, got, "the order asked for is kept")

	for in, value := range map[string]string{
		"":                   `""`,
		"block,":             `""`,
		"Block":              `"Block"`,
		"block,passthrough":  `"passthrough"`,
		"passthru,passthru":  "passthru",
		"block passthru":     `"block passthru"`,
		"block,\xff":         `"\xff"`,
		"block;passthru":     `"block;passthru"`,
		"passthru-poll,poll": `"poll"`,
	} {
		_, err := ParsePaths(in)
		badflagtest.Require(t, err, "--paths", value)
	}
}

func TestPathKinds(t *testing.T) {
	for path, want := range map[Path][2]bool{
		Block: {false, false}, Passthru: {false, true}, PassthruPoll: {true, true}, BlockPoll: {true, false},
	} {
		require.Equal(t, want, [2]bool{path.Polled(), path.Passthru()}, path)
	}
}

func TestParseDepths(t *testing.T) {
	got, err := ParseDepths("1_1,8_2, 16_4,128_32")
	require.NoError(t, err)
	require.Equal(t, DefaultDepths(), got)

	got, err = ParseDepths("4096_4096")
	require.NoError(t, err)
	require.Equal(t, []Depth{{4096, 4096}}, got)

	for in, tc := range map[string]struct{ value, part string }{
		"":                    {`""`, "QD_batch"},
		"1_1,":                {`""`, "QD_batch"},
		"8":                   {`"8"`, "QD_batch"},
		"8_":                  {`"8_"`, "QD_batch"},
		"_8":                  {`"_8"`, "QD_batch"},
		"8_2_1":               {`"8_2_1"`, "QD_batch"},
		"8-2":                 {`"8-2"`, "QD_batch"},
		"+8_2":                {`"+8_2"`, "QD_batch"},
		"-8_2":                {`"-8_2"`, "QD_batch"},
		"0x8_2":               {`"0x8_2"`, "QD_batch"},
		"8 _2":                {`"8 _2"`, "QD_batch"},
		"8_2k":                {`"8_2k"`, "QD_batch"},
		"8.0_2":               {`"8.0_2"`, "QD_batch"},
		"99999999999999999_1": {`"99999999999999999_1"`, "QD_batch"},
		"0_0":                 {"0_0", "4096"},
		"8_0":                 {"8_0", "8_1"},
		"4097_1":              {"4097_1", "1 to 4096"},
		"8_9":                 {"8_9", "1 to 8"},
		"8_2,1_1,8_2":         {"8_2", "once"},
		"8_2,08_02":           {"8_2", "once"},
	} {
		_, err := ParseDepths(in)
		badflagtest.Require(t, err, "--depths", tc.value)
		require.ErrorContains(t, err, tc.part, in)
	}
}

func TestDepthText(t *testing.T) {
	out, err := json.Marshal(DefaultDepths())
	require.NoError(t, err)
	require.Equal(t, `["1_1","8_2","16_4","128_32"]`, string(out))
	var back []Depth
	require.NoError(t, json.Unmarshal(out, &back))
	require.Equal(t, DefaultDepths(), back)

	for _, bad := range []string{`["2_8"]`, `["x"]`, `[""]`, `[3]`} {
		require.Error(t, json.Unmarshal([]byte(bad), &back), bad)
	}
}

func TestParseBatchRule(t *testing.T) {
	for in, want := range map[string]BatchRule{"fio": RuleFio, "tio": RuleTIOUring} {
		got, err := ParseBatchRule(in)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := ParseBatchRule("FIO")
	badflagtest.Require(t, err, "--batch-rule", `"FIO"`)
}
