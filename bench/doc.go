// Command bench measures the engine against the best that others do, side by
// side: `make bench`.
//
//	ring    on this machine: the queue's own loop on /dev/null and on NOP,
//	        against two C loops (bench/loops): one on liburing as a good user
//	        writes it, and one that does nothing but enter the kernel
//	drive   in the lab: the cells of `nvmepass compare` against fio
//	device  in the lab: passthru.Device under many goroutines against os.File
//	        with O_DIRECT
//
// Every part is a contest: in each round, all sides of a cell run one after
// another, in an order that changes from round to round, so that what disturbs
// the machine disturbs them alike. Ratios are paired by round (package
// internal/stats). docs/benchmarks.md says how to read them.
//
// # Exit code
//
// 0 if everything was measured, whether or not a target was met; 1 if something
// could not be measured; 2 for a wrong flag.
package main
