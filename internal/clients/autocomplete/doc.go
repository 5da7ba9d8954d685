// Package autocomplete is the client of the address auto-complete service; the
// wire facts are in docs/wire/autocomplete.md.
package autocomplete
