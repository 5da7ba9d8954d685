package fetcher

import (
	"testing"
	"time"
)

func TestAServerThatRefusesSegmentsIsNotAskedAgain(t *testing.T) {
	p := pace{limit: 4}
	p.look(mib, 1)
	if p.wanted != 4 {
		t.Fatalf("%d connections wanted", p.wanted)
	}
	p.refuse()
	for range 10 * restTicks {
		if p.look(mib, 1); p.wanted != 1 {
			t.Fatalf("%d connections wanted", p.wanted)
		}
	}
}

func TestThePaceFollowsWhatConnectionsBring(t *testing.T) {
	const each = 12e6
	tremor := 0.9
	trembling := func(n int) float64 {
		tremor = 2 - tremor // 1.1, 0.9, 1.1 …
		return each * float64(n) * tremor
	}
	tests := map[string]struct {
		rate func(connections int) float64
		want int
	}{
		"each is capped":                {func(n int) float64 { return each * float64(n) }, 4},
		"twice as much at most":         {func(n int) float64 { return min(each*float64(n), 2*each) }, 2},
		"the link is full":              {func(int) float64 { return each }, 1},
		"more cost":                     {func(n int) float64 { return each / float64(n) }, 1},
		"a little more":                 {func(n int) float64 { return each * (1 + 0.05*float64(n)) }, 1},
		"one is fast enough":            {func(n int) float64 { return fast * float64(n) }, 1},
		"each is capped, with a tremor": {trembling, 4},
	}
	for name, tt := range tests {
		p := pace{limit: 4}
		connections := 1
		for range 20 {
			p.look(tt.rate(connections), connections)
			connections = max(p.wanted, 1)
		}
		if p.wanted != tt.want {
			t.Errorf("%s: %d connections", name, p.wanted)
		}
	}
}

func TestThePaceLooksAgainAfterAWhile(t *testing.T) {
	p := pace{limit: 4}
	p.look(1e6, 1)
	p.giveUp()
	for range restTicks {
		p.look(1e6, 1)
	}
	if p.look(1e6, 1); p.wanted != 4 {
		t.Errorf("%+v", p)
	}
}

func TestThePaceLearnsNothingWhereNoConnectionIsFree(t *testing.T) {
	p := pace{limit: 4}
	for range 50 {
		p.look(1e6, 1)
	}
	if p.wanted != 4 {
		t.Errorf("%+v", p)
	}
}

func TestASegmentIsWorthItsRequestAndStaysNear(t *testing.T) {
	for name, tt := range map[string]struct {
		each    float64
		latency time.Duration
		want    int64
	}{
		"nothing known":  {0, 0, minSegment},
		"near and slow":  {12e6, time.Millisecond, minSegment},
		"near and fast":  {80e6, time.Millisecond, 20e6},
		"far and slow":   {12e6, 100 * time.Millisecond, 24e6},
		"very far, fast": {80e6, time.Second, maxSegment},
	} {
		p := pace{each: tt.each, latency: tt.latency}
		if got := p.segment(); got != tt.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}
