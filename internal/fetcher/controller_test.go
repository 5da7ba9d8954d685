package fetcher

import (
	"testing"
	"time"
)

func TestControllerStaysAtOneConnectionWhenDisabled(t *testing.T) {
	c := controller{limit: 4}
	c.observe(mib, 1)
	if c.target != 4 {
		t.Fatalf("target is %d", c.target)
	}
	c.disable()
	for range 10 * holdTicks {
		if c.observe(mib, 1); c.target != 1 {
			t.Fatalf("target is %d", c.target)
		}
	}
}

func TestControllerKeepsAsManyConnectionsAsTheRateGrewBy(t *testing.T) {
	const each = 12e6
	noise := 0.9
	noisy := func(n int) float64 {
		noise = 2 - noise // 1.1, 0.9, 1.1 …
		return each * float64(n) * noise
	}
	tests := map[string]struct {
		rate func(connections int) float64
		want int
	}{
		"each is capped":             {func(n int) float64 { return each * float64(n) }, 4},
		"twice as much at most":      {func(n int) float64 { return min(each*float64(n), 2*each) }, 2},
		"the link is full":           {func(int) float64 { return each }, 1},
		"more are slower":            {func(n int) float64 { return each / float64(n) }, 1},
		"a little more":              {func(n int) float64 { return each * (1 + 0.05*float64(n)) }, 1},
		"one is fast enough":         {func(n int) float64 { return fastEnough * float64(n) }, 1},
		"each is capped, with noise": {noisy, 4},
	}
	for name, tt := range tests {
		c := controller{limit: 4}
		connections := 1
		for range 20 {
			c.observe(tt.rate(connections), connections)
			connections = max(c.target, 1)
		}
		if c.target != tt.want {
			t.Errorf("%s: %d connections", name, c.target)
		}
	}
}

func TestControllerProbesAgainAfterBackingOff(t *testing.T) {
	c := controller{limit: 4}
	c.observe(1e6, 1)
	c.backOff()
	for range holdTicks {
		c.observe(1e6, 1)
	}
	if c.observe(1e6, 1); c.target != 4 {
		t.Errorf("%+v", c)
	}
}

func TestControllerDecidesNothingWhileNoConnectionIsFree(t *testing.T) {
	c := controller{limit: 4}
	for range 50 {
		c.observe(1e6, 1)
	}
	if c.target != 4 {
		t.Errorf("%+v", c)
	}
}

func TestSegmentSizeGrowsWithRateAndLatency(t *testing.T) {
	for name, tt := range map[string]struct {
		each    float64
		latency time.Duration
		want    int64
	}{
		"no present bytes": {0, 0, minSegment},
		"near and slow":    {12e6, time.Millisecond, minSegment},
		"near and fast":    {80e6, time.Millisecond, 20e6},
		"far and slow":     {12e6, 100 * time.Millisecond, 24e6},
		"very far, fast":   {80e6, time.Second, maxSegment},
	} {
		c := controller{each: tt.each, latency: tt.latency}
		if got := c.segmentSize(); got != tt.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}
