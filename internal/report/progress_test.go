package report

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
)

func progressAt(done int, left time.Duration, failed int) compare.Progress {
	return compare.Progress{
		Step: compare.Step{
			Cell:  compare.Cell{Device: "/dev/ng0n1", Path: iosetup.PassthruPoll, Depth: iosetup.Depth{QD: 128, Batch: 32}},
			Round: 3, Order: done + 1,
		},
		Done: done, Steps: 80, Rounds: 5, Failed: failed, Remaining: left,
	}
}

// terminal plays what a terminal does with carriage returns and returns the line that is left to see.
func terminal(out string) string {
	var screen []byte
	column := 0
	for _, c := range []byte(out) {
		if c == '\r' {
			column = 0
			continue
		}
		if column == len(screen) {
			screen = append(screen, ' ')
		}
		screen[column] = c
		column++
	}
	return strings.TrimRight(string(screen), " ")
}

func TestProgressOnTerminal(t *testing.T) {
	var b strings.Builder
	p := NewProgress(&b, true, 80)
	p.Update(progressAt(33, 101*time.Second, 2))
	require.Equal(t, " 41%  1m41s left  round 3/5  128_32 passthru-poll /dev/ng0n1, 2 failed", terminal(b.String()))
	p.Update(progressAt(79, 2*time.Second, 0))
	require.Equal(t, " 98%  2s left  round 3/5  128_32 passthru-poll /dev/ng0n1", terminal(b.String()), "nothing is left of the longer line")
	p.Finish()
	require.Empty(t, terminal(b.String()))
	require.True(t, strings.HasSuffix(b.String(), "\r"))
	require.NotContains(t, b.String(), "\n")
	before := b.Len()
	p.Finish()
	require.Equal(t, before, b.Len())
}

func TestProgressFitsEveryWidth(t *testing.T) {
	for width := -1; width <= 120; width++ {
		var b strings.Builder
		p := NewProgress(&b, true, width)
		long := progressAt(1, time.Hour, 1)
		long.Step.Device = strings.Repeat("\u00e9x", 100)
		p.Update(long)
		p.Update(progressAt(2, time.Minute, 0))
		p.Finish()
		limit := width
		if width <= 0 {
			limit = defaultTerminalWidth
		}
		for line := range strings.SplitSeq(b.String(), "\r") {
			require.Less(t, len(line), max(limit, 1), "the last column stays free")
		}
	}
}

func TestProgressElsewhere(t *testing.T) {
	c := compare.DefaultConfig()
	c.Devices, c.Rounds = []string{"/dev/ng0n1"}, 3
	var b strings.Builder
	p := NewProgress(&b, false, 0)
	_, err := compare.Run(t.Context(), c, func(_ context.Context, step compare.Step) (compare.Sample, error) {
		if step.Path == iosetup.Block && step.Round > 1 {
			return compare.Sample{}, errors.New("refused")
		}
		return compare.Sample{WindowNS: 1}, nil
	}, func(s compare.Progress) {
		s.Remaining = time.Duration(s.Steps-s.Done) * 2 * time.Second // not the clock's
		p.Update(s)
	})
	require.NoError(t, err)
	p.Finish()
	require.Equal(t, strings.Join([]string{
		"round 1 of 3 done, 16 of 48 cells, 1m04s left",
		"round 2 of 3 done, 32 of 48 cells, 4 failed, 32s left",
		"round 3 of 3 done, 48 of 48 cells, 8 failed, 0s left",
		"",
	}, "\n"), b.String())
}
