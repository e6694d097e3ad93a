package test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
)

// envNVMeCLI is how to call nvme-cli, words apart by spaces; without it, nvme
// of $PATH is called.
const envNVMeCLI = "NVMEPASS_TEST_NVMECLI"

// nvmeCLI runs nvme-cli and returns its JSON.
func nvmeCLI(t *testing.T, args ...string) []byte {
	t.Helper()
	command := strings.Fields(os.Getenv(envNVMeCLI))
	if len(command) == 0 {
		path, err := exec.LookPath("nvme")
		if err != nil {
			ringtest.Missing(t, "nvme-cli (the package nvme-cli, or its call in "+envNVMeCLI+")", err)
		}
		command = []string{path}
	}
	cmd := exec.Command(command[0], append(append(command[1:], args...), "-o", "json")...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, "nvme %v: %s%s", args, out, errs.String())
	return out
}
