package nvme

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fixedString is the text of a fixed-size field that is padded with spaces or
// zeros, safe to print: bytes that are not printable UTF-8 come out as \xNN.
func fixedString(b []byte) string {
	return printable(bytes.Trim(b, " \x00"))
}

// terminatedString is the text of a zero-terminated field, safe to print.
func terminatedString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return printable(bytes.TrimRight(b, " "))
}

func printable(b []byte) string {
	var s strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 || !unicode.IsPrint(r) {
			for _, c := range b[:n] {
				fmt.Fprintf(&s, `\x%02x`, c)
			}
		} else {
			s.WriteRune(r)
		}
		b = b[n:]
	}
	return s.String()
}
