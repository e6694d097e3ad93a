// Package diff compares two recorded runs cell by cell and says of each whether
// its rate changed, and how sure that is.
//
// # Method
//
// No round of one run belongs to a round of the other, so a cell's change is the
// quotient of the geometric means of its rounds, with Welch's 95 % interval on
// their logarithms. Verdicts are
//
//   - same: the whole interval lies within the margin (3 % each way unless told
//     otherwise), so that the cell is known not to have changed by more;
//   - faster, slower: the change is not chance;
//   - too noisy: neither can be said.
//
// A table of many cells finds something by chance if each cell may err in one of
// twenty cases. The probabilities of all cells are therefore adjusted by Holm's
// method, such that of two runs that do not differ, any cell at all is called faster
// or slower with a probability of [FamilyError].
//
// A cell that is too noisy tells how many rounds of the same length each run
// needs to see a change of 5/3 of the margin, 5 % unless told otherwise, with a
// probability of [Power].
//
// What differs between two runs beside the thing under test, such as neighbours
// on the machine, is not in the scatter of their rounds. Differences of environment
// and configuration therefore come first.
//
// # Threading
//
// Everything here is plain functions and values.
//
// # Errors
//
// Runs that were not made alike give a [*MismatchError], unless forced.
package diff
