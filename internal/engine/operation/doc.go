// Package operation is the table of what an engine can be asked to do. A row names a path
// of the control socket and the types of the request and the result. The engine and the
// daemon bind functions to the rows, the control socket carries them, and a command asks
// an engine in its own process and one in another process in the same way.
package operation
