// Package nopbench measures an io_uring by itself: how many commands a second
// go through a ring when nothing lies behind it. The commands are NOPs, or
// NVMe reads to /dev/null through the queue that real drives get.
//
// # Threading
//
// A Bench runs each cell on an OS thread of its own. Everything else is plain
// values.
//
// # Errors
//
// A wrong configuration gives one badflag.Error per wrong setting.
package nopbench
