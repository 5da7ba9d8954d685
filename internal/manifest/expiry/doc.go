// Package expiry computes until when data may be used, and judges whether that day is past.
//
// A day is a UTC day. Data may be used until its end. The day follows from the release by a
// Rule, or a gate tells it by a line on its standard output:
//
//	syncd-expires: 2026-12-31
//
// The earlier day counts. A machine's clock may be wrong, so that a Date header of the
// provider is the second witness, see Present.
//
// The package is pure: it has no state, and asks no clock.
package expiry
