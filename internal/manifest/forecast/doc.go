// Package forecast foresees the next release of a manifest from its past ones: when it
// is due, and how many bytes it will bring.
package forecast
