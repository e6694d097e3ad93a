package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnknownFlags: an unknown flag is answered with the nearest one of that
// command, if one is near.
func TestUnknownFlags(t *testing.T) {
	for _, tt := range []struct {
		args []string
		hint string
	}{
		{[]string{"compare", "--deptsh", "1_1"}, "did you mean --depths? "},
		{[]string{"compare", "--round=9"}, "did you mean --rounds? "},
		{[]string{"run", "--rwmix_read", "70"}, "did you mean --rwmixread? "},
		{[]string{"run", "--fixed-bufs"}, "did you mean --fixedbufs? "},
		{[]string{"run", "--Runtime", "1"}, "did you mean --runtime? "},
		{[]string{"run", "--sqpol"}, "did you mean --sqpoll? "},
		{[]string{"run", "--iops", "1"}, "did you mean --rate-iops? "},
		{[]string{"run", "--random", "zipf"}, "did you mean --random-distribution? "},
		{[]string{"run", "-rw=read"}, "did you mean --rw? "},
		{[]string{"run", "-bs", "4k"}, "did you mean --bs? "},
		{[]string{"io", "read", "--start-blck", "1"}, "did you mean --start-block? "},
		{[]string{"diff", "--fail_on", "slower"}, ""},
		{[]string{"--versio"}, "did you mean --version? "},
		{[]string{"run", "--all-device"}, ""}, // hidden
		{[]string{"run", "--elephant"}, ""},
		{[]string{"run", "-q", "1"}, ""},
	} {
		code, out, errs := command(t, tt.args...)
		require.Equal(t, exitUsage, code, "%q: %s", tt.args, errs)
		require.Empty(t, out, "%q", tt.args)
		if tt.hint == "" {
			require.NotContains(t, errs, "did you mean", "%q", tt.args)
			continue
		}
		require.Contains(t, errs, ": "+tt.hint+"see nvmepass", "%q", tt.args)
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"depths", "depths", 0}, {"depth", "depths", 1},
		{"deptsh", "depths", 1}, {"bs", "rw", 2}, {"output", "ouptut", 1}, {"kitten", "sitting", 3},
	} {
		require.Equal(t, tt.want, distance(tt.a, tt.b), "%q %q", tt.a, tt.b)
		require.Equal(t, tt.want, distance(tt.b, tt.a), "%q %q", tt.b, tt.a)
	}
}
