// Package cli runs scripts that call nvmepass as a process and say what has to
// come of it: exit code, what is on standard output and on standard error, and
// what a JSON document holds.
//
// A script is text. Lines that begin with # are comments. After the first line
// of the form "-- NAME --" follow files, in the form of Go's txtar archives, which
// are there in the working folder when the script begins. A word may stand in
// single quotes; $NAME is replaced by a variable, of which WORK is the working
// folder. Lines are:
//
//	nvmepass WORD...   run it; what follows is about this run
//	exit N             its exit code, on the next line; without the line it is 0
//	out TEXT           standard output contains the rest of the line
//	err TEXT           standard error does
//	!out TEXT, !err TEXT
//	                   it does not; without a text, there is nothing at all
//	json PATH OP VALUE what the document on standard output has at a path such as
//	                   total.run.failed or cells.0.median; OP is = != < or >
//	has FILE TEXT      a file contains the rest of the line
//	absent FILE        there is no such file
//	save FILE          write standard output to a file
//	stdin FILE         what the next run reads
//	into FILE          where the next run's standard output goes instead; | is a
//	                   pipe that nobody reads
//	send SIG TEXT      send the next run INT or TERM once its standard error
//	                   contains the text
//	as UID             the next run is that user's, without rights
//
// and whatever the caller adds. Of every run it is checked besides that it ends,
// that it does not panic, that diagnostics stay off standard output, that a
// wrong usage (exit code 1) prints no result, and that what -o json prints is one
// JSON document.
package cli
