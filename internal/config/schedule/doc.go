// Package schedule says when something runs: by cron's five fields, with or without a zone, or
// by an interval. A time that daylight saving skips or repeats runs once.
package schedule
