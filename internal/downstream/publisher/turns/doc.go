// Package turns gives the turns of publications to one place: one runs and one waits.
package turns
