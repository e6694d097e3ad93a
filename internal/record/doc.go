// Package record reads the JSON records of all commands into one view: what was
// asked, where it ran, and cells with the rounds that their figures rest on.
// What compares records or draws them needs to know no command by itself.
//
// # Threading
//
// Everything here is plain values.
//
// # Errors
//
// Errors of [Read] name the file and say what to give instead. No input makes it
// panic.
package record
