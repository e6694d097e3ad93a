package main

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseOptions(t *testing.T) {
	o, err := parseOptions(nil, &bytes.Buffer{})
	require.NoError(t, err)
	require.Equal(t, partOrder, o.parts)
	require.GreaterOrEqual(t, o.rounds, 10)
	warmup, runtime := o.times("drive")
	require.Equal(t, 200*time.Millisecond, warmup)
	require.Equal(t, 800*time.Millisecond, runtime)

	o, err = parseOptions([]string{"-parts", "device,ring", "-runtime", "2s", "-cpu", "0"}, &bytes.Buffer{})
	require.NoError(t, err)
	require.Equal(t, []string{"device", "ring"}, o.parts)
	warmup, runtime = o.times("device")
	require.Equal(t, 200*time.Millisecond, warmup)
	require.Equal(t, 2*time.Second, runtime)
	require.Zero(t, o.cpu)
}

func TestWrongOptions(t *testing.T) {
	for _, args := range [][]string{
		{"ring"}, {"-parts", "rings"}, {"-parts", "ring,ring"}, {"-parts", ""}, {"-rounds", "0"}, {"-runtime", "-1s"}, {"-cpu", "100000"}, {"-nope"},
	} {
		var stderr bytes.Buffer
		require.Equal(t, exitUsage, run(context.Background(), args, &stderr, &stderr), args)
		require.NotEmpty(t, stderr.String())
	}
}

// TestMissingPrograms are noticed before anything is measured.
func TestMissingPrograms(t *testing.T) {
	for _, args := range [][]string{
		{"-parts", "ring", "-nvmepass", "./no-such-program"},
		{"-parts", "ring", "-nvmepass", "sh", "-loops", "no-such-folder"},
		{"-parts", "drive", "-nvmepass", "./no-such-program"},
	} {
		var stderr bytes.Buffer
		require.Equal(t, exitFailed, run(t.Context(), append(args, "-save", ""), &stderr, &stderr), args)
		require.Contains(t, stderr.String(), "no-such")
		require.Contains(t, stderr.String(), "make bench builds it")
	}
}
