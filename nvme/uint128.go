package nvme

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"strconv"
)

// Uint128 is an unsigned 128-bit counter or capacity. It prints and marshals
// as exact decimal digits.
type Uint128 struct {
	Hi, Lo uint64
}

const maxUint128Digits = 39

// uint128At reads 16 little-endian bytes.
func uint128At(b []byte) Uint128 {
	return Uint128{Hi: binary.LittleEndian.Uint64(b[8:]), Lo: binary.LittleEndian.Uint64(b)}
}

// DecodeUint128 reads 16 little-endian bytes.
func DecodeUint128(b []byte) (Uint128, error) {
	if err := need("128-bit integer", b, 16); err != nil {
		return Uint128{}, err
	}
	return uint128At(b), nil
}

// IsZero reports whether u is 0.
func (u Uint128) IsZero() bool { return u.Hi|u.Lo == 0 }

// Uint64 is u as 64 bits; ok is false if it does not fit.
func (u Uint128) Uint64() (v uint64, ok bool) { return u.Lo, u.Hi == 0 }

// Big is u as a new big integer.
func (u Uint128) Big() *big.Int {
	b := new(big.Int).SetUint64(u.Hi)
	return b.Lsh(b, 64).Add(b, new(big.Int).SetUint64(u.Lo))
}

// Mul is the exact product of u and n, which may have up to 192 bits.
func (u Uint128) Mul(n uint64) *big.Int {
	b := u.Big()
	return b.Mul(b, new(big.Int).SetUint64(n))
}

// Float64 is the nearest floating point value, for rates and percentages.
func (u Uint128) Float64() float64 { return float64(u.Hi)*(1<<64) + float64(u.Lo) }

// String is the exact decimal value.
func (u Uint128) String() string {
	if u.Hi == 0 {
		return strconv.FormatUint(u.Lo, 10)
	}
	return u.Big().String()
}

// MarshalText returns plain decimal digits.
func (u Uint128) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText accepts plain decimal digits up to 2^128-1.
func (u *Uint128) UnmarshalText(text []byte) error {
	if len(text) > maxUint128Digits {
		return fmt.Errorf("128-bit integer: %d characters are more than the %d digits of 2^128-1", len(text), maxUint128Digits)
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return fmt.Errorf("128-bit integer %q: only decimal digits are allowed", text)
		}
	}
	b, ok := new(big.Int).SetString(string(text), 10)
	if !ok || b.BitLen() > 128 {
		return fmt.Errorf("128-bit integer %q: needs to be 0 to 2^128-1", text)
	}
	u.Lo = new(big.Int).And(b, new(big.Int).SetUint64(1<<64-1)).Uint64()
	u.Hi = b.Rsh(b, 64).Uint64()
	return nil
}

// MarshalJSON returns plain decimal digits, a JSON number of full precision.
func (u Uint128) MarshalJSON() ([]byte, error) { return u.MarshalText() }

// UnmarshalJSON accepts what MarshalJSON returns.
func (u *Uint128) UnmarshalJSON(b []byte) error { return u.UnmarshalText(b) }
