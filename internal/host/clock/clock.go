package clock

import "time"

// Instant is one moment on both clocks. The monotonic clock is never set, but stands
// still while a machine is suspended.
type Instant struct {
	Wall      time.Time // without a monotonic reading
	Monotonic time.Duration
}

var epoch = time.Now()

// Now returns the present moment.
func Now() Instant {
	now := time.Now()
	return Instant{Wall: now.Round(0), Monotonic: now.Sub(epoch)}
}

// Deadline is a time to wait for. The zero value has passed.
type Deadline struct{ at Instant }

// Until returns the deadline at a time, as seen at now.
func (now Instant) Until(at time.Time) Deadline {
	at = at.Round(0)
	return Deadline{Instant{Wall: at, Monotonic: now.Monotonic + at.Sub(now.Wall)}}
}

// Wall is the time on the wall clock.
func (d Deadline) Wall() time.Time { return d.at.Wall }

// Left is how long the deadline is away, zero or less when it has passed.
func (d Deadline) Left(now Instant) time.Duration {
	return min(d.at.Wall.Sub(now.Wall), d.at.Monotonic-now.Monotonic)
}

// Passed is true from the deadline on.
func (d Deadline) Passed(now Instant) bool { return d.Left(now) <= 0 }
