package iopoll

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/uringcmd"
)

type errno = syscall.Errno

// run enables a ring on this goroutine for the time of f.
func run(t *testing.T, cfg uringcmd.Config, f func(r *uringcmd.Ring)) {
	t.Helper()
	r, err := uringcmd.New(cfg)
	require.NoError(t, err)
	require.NoError(t, r.Enable())
	f(r)
	require.NoError(t, r.Close())
}
