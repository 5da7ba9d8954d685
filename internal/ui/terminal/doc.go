// Package terminal shows reports to people who use the command line: progress bars,
// summaries and tables.
package terminal
