// Package report renders what the commands found: as text, for comparisons in the shape of the published table, as one JSON document,
// as CSV with one row per cell and round, as lines of the Go benchmark format, in the shape of fio's JSON output, and as progress lines
// while a run goes on.
//
// Figures of an emulated drive are marked as such in every form: in the text's head and titles, in the JSON's environment, and
// in each row of the CSV. Progress lines show no figures.
//
// Text is plain ASCII; what devices and errors bring along is escaped. On a writer of [Coloured], verdicts have colour. Tables take
// at most 100 columns for device and error texts of any length.
//
// # Errors
//
// The renderers return the writer's error, and write nothing if the result cannot be rendered. They accept any result, also one that
// was cut short or read from a file, and change nothing in it.
//
// # Threading
//
// The renderers are plain functions. A [Progress] belongs to one goroutine.
package report
