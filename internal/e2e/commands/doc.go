// Package commands has the end-to-end tests of the other commands: config, call, demo,
// emulator, and the move from another program.
package commands
