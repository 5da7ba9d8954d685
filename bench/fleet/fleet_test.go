package main

import (
	"math"
	"slices"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6*max(1, math.Abs(b)) }

func TestClientsShareRateEvenly(t *testing.T) {
	for name, row := range map[string]struct {
		starts           []float64
		bytes, rate, own float64
		want             []float64
	}{
		"alone":                       {[]float64{3}, 100, 10, 50, []float64{13}},
		"alone, by its own rate":      {[]float64{3}, 100, 10, 5, []float64{23}},
		"two at once":                 {[]float64{0, 0}, 100, 10, 50, []float64{20, 20}},
		"one after the other":         {[]float64{0, 10}, 100, 10, 50, []float64{10, 20}},
		"the second in the middle":    {[]float64{0, 5}, 100, 10, 50, []float64{15, 20}},
		"a pause between two":         {[]float64{0, 30}, 100, 10, 50, []float64{10, 40}},
		"two with less than the rate": {[]float64{0, 5}, 100, 10, 5, []float64{20, 25}},
		"three, the first ends early": {[]float64{0, 9, 9}, 100, 10, 50, []float64{12, 30, 30}},
	} {
		got := share(row.starts, row.bytes, row.rate, row.own)
		if !slices.EqualFunc(got, row.want, near) {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}

func TestEachHostPollsOnceInAnInterval(t *testing.T) {
	if got := polls(100, 4, 80); !slices.EqualFunc(got, []float64{110, 130, 150, 170}, near) {
		t.Errorf("%v", got)
	}
}

func example() inputs {
	return inputs{measured{ServeCPU: 1e-9, ProveCPU: 2e-9}, assumptions()}
}

// The last host cannot be done before the source has sent its part of all bytes.
func TestNoLayoutIsFasterThanItsSource(t *testing.T) {
	in := example()
	rates := []float64{in.Provider, in.serve(), in.serve(), in.Bucket, in.serve()}
	for i, l := range layouts() {
		for _, hosts := range []int{1, 10, 200, 10_000} {
			got := l.simulate(in, hosts)
			bytes := got.origin
			if i == 0 {
				bytes = got.provider
			}
			if least := max(bytes/rates[i], in.Release/in.prove()); got.seconds < least {
				t.Errorf("%s, %d hosts: %.0f s, but the bytes need %.0f s", l.name, hosts, got.seconds, least)
			}
			if i > 0 && got.provider != in.Release {
				t.Errorf("%s, %d hosts: the provider sent %v bytes of a release of %v", l.name, hosts, got.provider, in.Release)
			}
		}
	}
}

func TestCachesTakeLoadFromOrigin(t *testing.T) {
	in := example()
	alone, cached := fromServe(in, 10_000), fromCaches(in, 10_000)
	if cached.origin*float64(in.Site) != alone.origin {
		t.Errorf("origin sent %v with caches for %d hosts each, %v without", cached.origin, in.Site, alone.origin)
	}
	if cached.seconds >= alone.seconds {
		t.Errorf("%.0f s with caches, %.0f s without", cached.seconds, alone.seconds)
	}
}
