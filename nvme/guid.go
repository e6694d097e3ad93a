package nvme

import (
	"encoding/hex"
	"fmt"
)

// GUID is a 16-byte identifier as the drive gives it: a byte string, most
// significant byte first, not a number of any byte order.
type GUID [16]byte

// IsZero reports whether the drive gave none.
func (g GUID) IsZero() bool { return g == GUID{} }

// String is 32 hexadecimal digits.
func (g GUID) String() string { return hex.EncodeToString(g[:]) }

// UUID is the identifier in the form of RFC 9562.
func (g GUID) UUID() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", g[0:4], g[4:6], g[6:8], g[8:10], g[10:16])
}

// MarshalText is [GUID.String].
func (g GUID) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// EUI64 is an 8-byte identifier, most significant byte first.
type EUI64 [8]byte

// IsZero reports whether the drive gave none.
func (e EUI64) IsZero() bool { return e == EUI64{} }

// String is 16 hexadecimal digits.
func (e EUI64) String() string { return hex.EncodeToString(e[:]) }

// MarshalText is [EUI64.String].
func (e EUI64) MarshalText() ([]byte, error) { return []byte(e.String()), nil }
