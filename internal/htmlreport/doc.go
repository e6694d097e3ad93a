// Package htmlreport renders recorded runs as one HTML file that needs nothing
// beside it: tables, charts, environment and settings, for the screen in light
// and dark and for print. It holds no script, and its policy forbids any
// access to the network.
//
// Every text of a record is escaped. Figures of an emulated drive are marked
// at the head of the page and at every chart and table.
//
// # Threading
//
// Everything here is plain functions and values.
//
// # Errors
//
// [New] refuses an empty list of records; [Report.Write] returns the writer's error.
package htmlreport
