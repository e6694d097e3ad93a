// Package cell runs single cells of a comparison: it opens the devices, checks
// before any I/O that every cell can run, and drives one path at one depth.
package cell
