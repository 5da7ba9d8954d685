package fetcher

import "time"

const (
	// paceTime is how often a transfer's rate is looked at.
	paceTime = 200 * time.Millisecond
	// fast is a rate, in bytes per second, at which a connection is not held
	// back by its provider: more of them would only cost this host.
	fast = 100 << 20
	// probeTicks is how long more connections have to show what they bring; the
	// first tick of them goes by while they are opened.
	probeTicks = 3
	// restTicks is for how long a decision for one connection stands.
	restTicks = int(30 * time.Second / paceTime)
	// minBusy is how long a connection should be busy with a request at least.
	minBusy = 250 * time.Millisecond
	// worthwhile is how much faster more connections must be.
	worthwhile = 1.25
)

// pace decides over how many connections a file should come: it tries as many as
// are allowed and keeps as many as the rate grew by. Links and servers that cap
// each connection give many, this host's own limits one.
type pace struct {
	limit  int
	wanted int // 0 at the start: one

	latency time.Duration // of the last request

	alone float64 // the rate of one connection, 0 while it is not known
	each  float64 // the rate of each at the last look
	sum   float64 // of the rates in the ticks of a probe
	ticks int     // of the probe or the rest under way
	rest  bool
}

// look takes the rate, in bytes per second, that so many connections had since the
// last look.
func (p *pace) look(rate float64, connections int) {
	p.each = rate / float64(connections)
	p.ticks++
	switch {
	case p.rest:
		if p.wanted == 1 && p.ticks >= restTicks { // to look again at more would mean to go without them
			*p = pace{limit: p.limit, wanted: 1, each: p.each, latency: p.latency}
		}
	case p.alone == 0:
		p.measureAlone(rate, connections)
	case connections == 1:
		p.ticks = 0 // none was free: nothing is known yet
	default:
		p.probe(rate)
	}
}

func (p *pace) measureAlone(rate float64, connections int) {
	if connections > 1 || rate == 0 {
		return
	}
	p.ticks = 0
	if rate >= fast {
		p.settle(1)
		return
	}
	p.alone, p.wanted = rate, p.limit
}

func (p *pace) probe(rate float64) {
	if p.ticks > 1 {
		p.sum += rate
	}
	if p.ticks < probeTicks {
		return
	}
	gain := p.sum / (probeTicks - 1) / p.alone
	if gain < worthwhile {
		gain = 1
	}
	p.settle(min(max(int(gain+0.5), 1), p.limit))
}

func (p *pace) settle(wanted int) { p.wanted, p.rest, p.ticks = wanted, true, 0 }

// giveUp is for a server that does not bear with more connections now.
func (p *pace) giveUp() { p.settle(1) }

// refuse is for a server that does not send parts of this content: more
// connections are not tried again.
func (p *pace) refuse() {
	p.limit = 1
	p.giveUp()
}

// segment is how many bytes one request should ask for.
func (p *pace) segment() int64 {
	busy := max(p.latency.Seconds()/requestPart, minBusy.Seconds())
	return int64(min(max(p.each*busy, minSegment), maxSegment))
}
