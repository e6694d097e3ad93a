// Package latency collects times of commands in a histogram of fixed size and
// tells percentiles of them.
//
// # Threading
//
// A Histogram belongs to one goroutine; merge those of several when they are
// done.
package latency
