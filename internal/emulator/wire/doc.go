// Package wire writes the answers of the emulated services: objects in JSON and
// XML, members in the order of the wire, and the two shapes of errors.
//
// It knows no service. Its functions are safe for concurrent use.
package wire
