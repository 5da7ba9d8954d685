// Package place holds how the configuration names a place in object storage, and the list of
// the places that a publisher writes to.
package place
