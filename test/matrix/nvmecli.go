package main

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/nvmepass/nvmepass/internal/lab/hosttool"
)

// envNVMeCLI tells the tests how to call nvme-cli.
const envNVMeCLI = "NVMEPASS_TEST_NVMECLI"

// nvmeCLI collects nvme-cli. Where the machine has none, files and env are
// empty, and the tests that need it are skipped with the reason.
var nvmeCLI = sync.OnceValues(func() (files map[string]string, env []string) {
	t, err := hosttool.Find("nvme")
	if err != nil {
		fmt.Fprintf(os.Stderr, "matrix: without nvme-cli: %v: install the package nvme-cli (make integration does)\n", err)
		return nil, nil
	}
	return t.Files, []string{envNVMeCLI + "=" + strings.Join(t.Command, " ")}
})
