// Package reversegeo plays the reverse geocoding service: the addresses and
// postal codes around a point.
//
// The wire facts are in docs/wire/reversegeo.md.
package reversegeo
