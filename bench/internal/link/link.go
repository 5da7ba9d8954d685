// Package link describes the network between provider and client, and slows it down: a
// TCP proxy delays each direction and caps the rate of each connection. A server's own
// limit counts per request, which hides that HTTP/2 shares one connection.
package link

import "time"

// Link is the network between provider and client.
type Link struct {
	HTTPS     bool
	RoundTrip time.Duration // half of it in each direction, plus one for the connection set-up
	Rate      int64         // bytes per second and connection to the client; 0 means no limit
}

// Slow returns whether the link needs a Proxy.
func (l Link) Slow() bool { return l.RoundTrip > 0 || l.Rate > 0 }

// upward returns when bytes of the client that were read at a time are due. The client
// is connected already, so its first bytes wait for the connection set-up, too.
func (l Link) upward(accepted time.Time) func(at time.Time, n int) time.Time {
	return func(at time.Time, _ int) time.Time {
		if connected := accepted.Add(l.RoundTrip); at.Before(connected) {
			at = connected
		}
		return at.Add(l.RoundTrip / 2)
	}
}

// downward returns when bytes of the server that were read at a time are due.
func (l Link) downward() func(at time.Time, n int) time.Time {
	var free time.Time // when the last byte has been sent
	return func(at time.Time, n int) time.Time {
		if free.Before(at) {
			free = at
		}
		if l.Rate > 0 {
			free = free.Add(time.Duration(n) * time.Second / time.Duration(l.Rate))
		}
		return free.Add(l.RoundTrip / 2)
	}
}
