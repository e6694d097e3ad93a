// Package report renders results of package compare: as text in the shape of the published table, as one JSON document, as CSV
// with one row per cell and round, and as progress lines while a comparison runs.
//
// Figures of an emulated drive are marked as such in every form: in the text's head and titles, in the JSON's environment, and
// in each row of the CSV. Progress lines show no figures.
//
// Text is plain ASCII; what devices and errors bring along is escaped. Tables take at most 100 columns for device and error
// texts of any length.
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
