package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/lab"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Exit codes, documented in README.md.
const (
	exitOK          = 0
	exitUsage       = 1
	exitDevice      = 2 // device, permission, unsupported
	exitIO          = 3 // I/O error or NVMe status, also of output
	exitTimeout     = 5 // time-out, cancelled, device gone
	exitInterrupted = 130
	exitNoReader    = 141 // what a shell shows of a process that SIGPIPE ended
)

// codeError carries an exit code; err may be nil if all was said already.
type codeError struct {
	code int
	err  error
}

// saidError is an error that standard error has already, from the guest.
type saidError string

func (e saidError) Error() string { return string(e) }

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

// message is what is to be said of err.
func message(err error) string {
	var c *codeError
	switch {
	case err == nil, errors.As(err, &c) && c.err == nil:
		return ""
	}
	return err.Error()
}

// unprinted tells whether err is that standard output took no more.
func unprinted(err error) bool {
	e, ok := errors.AsType[*fs.PathError](err)
	return ok && e.Op == "write" && e.Path == os.Stdout.Name()
}

// unwritten tells whether err is that standard output or a file took no more.
func unwritten(err error) bool {
	e, ok := errors.AsType[*fs.PathError](err)
	return ok && (e.Op == "write" || e.Op == "sync")
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
	case errors.Is(err, compare.ErrStop), errors.Is(err, uringcmd.ErrStalled), errors.Is(err, lab.ErrTimeout), errors.Is(err, passthru.ErrCancelled):
		return exitTimeout
	case unwritten(err):
		return exitIO
	}
	return exitDevice
}
