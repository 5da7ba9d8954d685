// Package rate limits transfers to bytes per second: by one rate, or by a timetable
// of rates. All transfers share a Budget.
package rate
