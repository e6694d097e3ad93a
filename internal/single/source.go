package single

import (
	"errors"
	"fmt"
	"io"

	"github.com/nvmepass/nvmepass/internal/badflag"
)

// maxInput bounds what is taken from a pipe whose length is not known, in bytes.
const maxInput = 64 << 20

// Source is where the bytes come from that go to the drive.
type Source struct {
	// Data and Metadata are nil where none was named.
	Data, Metadata io.Reader
	// Prefill fills what they leave open; nil for nothing.
	Prefill *byte
	// Dry says that nothing will be sent, so that bytes that are not there
	// are zeros.
	Dry bool
}

// data is exactly n bytes to be sent.
func (s *Source) data(n uint64) ([]byte, error) {
	return s.take(s.Data, "--data", "data", n)
}

// metadata is exactly n bytes of separate metadata to be sent.
func (s *Source) metadata(n uint64) ([]byte, error) {
	return s.take(s.Metadata, "--metadata", "metadata", n)
}

// blank is a buffer of n bytes for what the drive sends.
func (s *Source) blank(n uint64) []byte {
	return s.filled(make([]byte, n))
}

func (s *Source) filled(b []byte) []byte {
	if s.Prefill != nil {
		for i := range b {
			b[i] = *s.Prefill
		}
	}
	return b
}

func (s *Source) take(r io.Reader, flag, what string, n uint64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	b := make([]byte, n)
	have := 0
	if r != nil {
		var err error
		have, err = io.ReadFull(r, b)
		if err == nil {
			return b, atEnd(r, flag, what, n)
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("read %s: %w", what, err)
		}
	}
	switch {
	case s.Prefill != nil:
		s.filled(b[have:])
	case r == nil && s.Dry:
	default:
		return nil, &badflag.Error{Flag: flag, Problem: fmt.Sprintf("%d bytes of %s for a command that moves %d", have, what, n),
			Remedy: "give a file of that length, or fill the rest with --prefill BYTE"}
	}
	return b, nil
}

// atEnd refuses bytes that would be left out.
func atEnd(r io.Reader, flag, what string, n uint64) error {
	var one [1]byte
	if k, _ := io.ReadFull(r, one[:]); k > 0 {
		return &badflag.Error{Flag: flag, Problem: fmt.Sprintf("more %s than the %d bytes that the command moves", what, n), Remedy: "shorten it, or let the command move more"}
	}
	return nil
}

// whole is all the data there is, for commands whose length follows from it;
// empty if there is none.
func (s *Source) whole() ([]byte, error) {
	if s.Data == nil {
		return nil, nil
	}
	b, err := io.ReadAll(io.LimitReader(s.Data, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("read data: %w", err)
	}
	if len(b) > maxInput {
		return nil, &badflag.Error{Flag: "--data", Problem: fmt.Sprintf("more than %d bytes, which no command moves", maxInput), Remedy: "give less, or say how much with --blocks"}
	}
	return b, nil
}
