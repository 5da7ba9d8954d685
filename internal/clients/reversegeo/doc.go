// Package reversegeo is the client of the reverse geocoding service; the wire
// facts are in docs/wire/reversegeo.md.
package reversegeo
