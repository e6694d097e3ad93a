package faults

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	runTask()
	os.Exit(m.Run())
}
