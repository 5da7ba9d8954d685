// Package clock waits for times of the wall clock, which somebody may set. A deadline
// passes at its time, or when the time until then has passed on the monotonic clock: so
// a clock that is set back, once or again and again, postpones nothing.
//
// A time on disk that lies in the future counts as now. A saved cool-down counts as a
// duration from the start, at most 24 hours.
package clock
