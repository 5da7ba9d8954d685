// Package autocomplete plays the address auto-complete service, under its two
// addresses: one for JSON and XML, one for scripts in a web page (JSONP).
//
// The wire facts are in docs/wire/autocomplete.md.
package autocomplete
