package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/passthru"
)

func TestArguments(t *testing.T) {
	for command, counts := range map[string][]bool{
		"format": {true, false}, "put": {false, true, true, false}, "get": {false, true, false},
		"delete": {false, true, false}, "list": {true, false}, "stat": {true, false}, "nope": {false, false},
	} {
		for n, ok := range counts {
			require.Equal(t, ok, fits(command, n), "%s with %d", command, n)
		}
		require.Contains(t, usage+"nope", command)
	}
}

func TestWrongNode(t *testing.T) {
	for command := range arguments {
		err := run(command, os.DevNull, []string{"key", "value"})
		require.ErrorIs(t, err, passthru.ErrWrongNode)
		require.ErrorContains(t, err, os.DevNull)
	}
}
