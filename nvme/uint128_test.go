package nvme

import (
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestB21Counters(t *testing.T) {
	ones := []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}
	for want, b := range map[string][]byte{
		"316912650112397582603894390785":          {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0},
		"340282366920938463463374607431768211455": ones,
		"1":                    {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"18446744073709551616": {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0},
		"0":                    make([]byte, 16),
	} {
		u, err := DecodeUint128(b)
		require.NoError(t, err)
		require.Equal(t, want, u.String())
		j, err := json.Marshal(struct{ V Uint128 }{u})
		require.NoError(t, err)
		require.Equal(t, `{"V":`+want+`}`, string(j))
		var back struct{ V Uint128 }
		require.NoError(t, json.Unmarshal(j, &back))
		require.Equal(t, u, back.V)
		require.Equal(t, want == "0", u.IsZero())
	}
	_, err := DecodeUint128(ones[:15])
	require.EqualError(t, err, "128-bit integer needs 16 bytes, given 15")
}

func TestUint128Arithmetic(t *testing.T) {
	u := Uint128{Hi: 1}
	require.Equal(t, "9444732965739290427392000", u.Mul(512000).String())
	require.InEpsilon(t, 18446744073709551616.0, u.Float64(), 1e-12)
	v, ok := u.Uint64()
	require.False(t, ok)
	require.Zero(t, v)
	v, ok = Uint128{Lo: 7}.Uint64()
	require.True(t, ok)
	require.Equal(t, uint64(7), v)
	r := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		u := Uint128{Hi: r.Uint64() >> r.UintN(65), Lo: r.Uint64()}
		want := new(big.Int).Lsh(new(big.Int).SetUint64(u.Hi), 64)
		want.Or(want, new(big.Int).SetUint64(u.Lo))
		require.Equal(t, want.String(), u.String())
		n := r.Uint64()
		require.Equal(t, want.Mul(want, new(big.Int).SetUint64(n)).String(), u.Mul(n).String())
	}
}

func TestUint128Text(t *testing.T) {
	for _, bad := range []string{"", "-1", "+1", "1e3", "0x1", " 1", "1.0", "null", "340282366920938463463374607431768211456", "0000000000000000000000000000000000000000"} {
		var u Uint128
		require.Error(t, u.UnmarshalText([]byte(bad)), bad)
	}
	var u Uint128
	require.NoError(t, u.UnmarshalText([]byte("340282366920938463463374607431768211455")))
	require.Equal(t, Uint128{Hi: 1<<64 - 1, Lo: 1<<64 - 1}, u)
}
