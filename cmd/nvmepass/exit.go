package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/lab"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Exit codes, documented in README.md.
const (
	exitOK          = 0
	exitUsage       = 1
	exitDevice      = 2 // device, permission, unsupported
	exitIO          = 3 // I/O error or NVMe status
	exitTimeout     = 5 // time-out, cancelled, device gone
	exitInterrupted = 130
)

// codeError carries an exit code; err may be nil if all was said already.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *codeError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &codeError{exitUsage, fmt.Errorf(format, args...)}
}

func message(err error) string {
	var c *codeError
	switch {
	case err == nil, errors.As(err, &c) && c.err == nil:
		return ""
	}
	return err.Error()
}

func exitCode(ctx context.Context, err error) int {
	var c *codeError
	var bad *badflag.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &c):
		return c.code
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &bad), errors.Is(err, lab.ErrConfig):
		return exitUsage
	case errors.Is(err, compare.ErrStop), errors.Is(err, uringcmd.ErrStalled), errors.Is(err, lab.ErrTimeout):
		return exitTimeout
	}
	return exitDevice
}
