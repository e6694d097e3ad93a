// Package outfile writes the files that a user names: whole or not at all.
//
// A regular file, new or old, is written beside its place and renamed, so that no
// reader and no crash finds half of it. An old one keeps its mode, and for root its
// owner; a new one has the mode that the umask leaves. A symbolic link stays, and
// what it leads to is written. A pipe, a terminal, /dev/null and the descriptors
// below /dev/fd, with /dev/stdout and /dev/stderr, take the bytes as they are. Every
// other kind of file is refused, the nodes of drives above all.
//
// # Signals
//
// The package handles none. Who ends the process in the middle of a Write calls
// [Abandon] first, so that nothing stays behind.
//
// # Threading
//
// The functions may be called from any goroutine.
package outfile
