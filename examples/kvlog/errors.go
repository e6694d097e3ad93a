package kvlog

import (
	"errors"
	"os"
)

// Errors that callers act on; those returned wrap them and say more.
var (
	// ErrNotLog: the storage does not begin with a log.
	ErrNotLog = errors.New("not a key-value log")
	// ErrNotBlank: the storage is to be formatted and holds something.
	ErrNotBlank = errors.New("not blank")
	// ErrExists: the storage is to be formatted and holds a log.
	ErrExists = errors.New("a key-value log is there already")
	// ErrNotFound: no such key.
	ErrNotFound = errors.New("key not found")
	// ErrFull: the record does not fit what is left.
	ErrFull = errors.New("the log is full")
	// ErrTooLarge: key or value above MaxKey or MaxValue.
	ErrTooLarge = errors.New("too large")
	// ErrEmptyKey: a key has at least one byte.
	ErrEmptyKey = errors.New("the key is empty")
	// ErrCorrupt: a record that was right when the log was opened or written
	// is not any more.
	ErrCorrupt = errors.New("the record on the drive is damaged")
	// ErrClosed is os.ErrClosed.
	ErrClosed = os.ErrClosed
)
