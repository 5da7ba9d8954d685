// Package complete offers the shell what an argument or a flag of a command can be. It
// reads the configuration, the data directory and a running daemon's status. It asks no
// server, changes nothing and prints no error: without an answer there is nothing to offer.
package complete
