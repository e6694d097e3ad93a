package test

import (
	"testing"

	"github.com/nvmepass/nvmepass/internal/unclosed/unclosedtest"
)

// TestMain fails the tests if they leave something open.
func TestMain(m *testing.M) { unclosedtest.Main(m) }
