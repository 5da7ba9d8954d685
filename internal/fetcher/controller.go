package fetcher

import "time"

const (
	// controlInterval is how often the rate of a transfer is observed.
	controlInterval = 200 * time.Millisecond
	// fastEnough is a rate, in bytes per second, at which the provider does not hold a
	// connection back: more of them would only cost this host.
	fastEnough = 100 << 20
	// probeTicks is how long a probe lasts. Its first tick does not count, because the
	// connections are opened in it.
	probeTicks = 3
	// holdTicks is how long a decision for one connection holds. Then the rate is
	// measured again.
	holdTicks = int(30 * time.Second / controlInterval)
	// minGain is how many times the rate must grow to keep more connections.
	minGain = 1.25
	// minBusy is how long a request should keep a connection busy at least.
	minBusy = 250 * time.Millisecond
	// maxLatencyShare bounds the share of a connection's time that it waits for
	// responses. It is not smaller because shorter segments leave fewer gaps, and a
	// kill then costs less.
	maxLatencyShare = 0.05
)

// controller decides how many connections a transfer uses. It measures the rate of
// one connection, then probes as many as are allowed, and keeps as many as the rate
// grew by. Providers that cap each connection get many; where the link or this host
// is the limit, there is one. Not safe for concurrent use.
type controller struct {
	limit  int // connections at most
	target int // connections wanted; 0, at the start, means one

	latency time.Duration // of the last request

	single    float64 // rate of one connection; 0 until it is measured
	each      float64 // rate of each connection at the last observation
	sum       float64 // of the rates observed in a probe
	ticks     int     // since the present measurement, probe or hold began
	isHolding bool    // the decision is made
}

// observe takes the rate, in bytes per second, of that many connections together since
// the last call.
func (c *controller) observe(rate float64, connections int) {
	c.each = rate / float64(connections)
	c.ticks++
	switch {
	case c.isHolding:
		if c.target == 1 && c.ticks >= holdTicks { // with more, to measure a single one would slow the transfer down
			*c = controller{limit: c.limit, target: 1, each: c.each, latency: c.latency}
		}
	case c.single == 0:
		c.measure(rate, connections)
	case connections == 1:
		c.ticks = 0 // no other connection was free, so there is nothing to compare
	default:
		c.probe(rate)
	}
}

// measure takes the rate of a single connection, and begins a probe unless that is
// fast enough.
func (c *controller) measure(rate float64, connections int) {
	if connections > 1 || rate == 0 {
		return
	}
	c.ticks = 0
	if rate >= fastEnough {
		c.hold(1)
		return
	}
	c.single, c.target = rate, c.limit
}

// probe takes the rate of several connections, and decides after probeTicks.
func (c *controller) probe(rate float64) {
	if c.ticks > 1 {
		c.sum += rate
	}
	if c.ticks < probeTicks {
		return
	}
	gain := c.sum / (probeTicks - 1) / c.single
	if gain < minGain {
		gain = 1
	}
	c.hold(min(max(int(gain+0.5), 1), c.limit))
}

func (c *controller) hold(target int) { c.target, c.isHolding, c.ticks = target, true, 0 }

// backOff goes on with one connection for a while.
func (c *controller) backOff() { c.hold(1) }

// disable goes on with one connection for good, because the server does not send
// ranges of this content.
func (c *controller) disable() {
	c.limit = 1
	c.hold(1)
}

// segmentSize returns how many bytes one request should ask for.
func (c *controller) segmentSize() int64 {
	busy := max(c.latency.Seconds()/maxLatencyShare, minBusy.Seconds())
	return int64(min(max(c.each*busy, minSegment), maxSegment))
}
