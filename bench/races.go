package main

import (
	"fmt"
	"time"

	"syncd/bench/internal/contender"
	"syncd/bench/internal/link"
	"syncd/bench/internal/provider"
)

// race is a case in which several contenders fetch the same files over a link in turn.
type race struct {
	name, what string
	sizes      []int64
	over       link.Link
	contenders func(bench) []contender.Contender
	pairs      []pair
}

// pair compares one contender with the best of others. wall and cpu are the highest
// ratios that meet the target; 0 means no target.
type pair struct {
	of        string
	against   []string
	wall, cpu float64
}

var https = link.Link{HTTPS: true}

func races() []race {
	return append(plainRaces(), httpsRaces()...)
}

func plainRaces() []race {
	return []race{
		{
			name: "big", what: "7 files, 800 MiB, one of 500 MiB",
			sizes: bigSizes(), contenders: allContenders, pairs: against(1, 0.85),
		},
		{
			name: "typical", what: "60 files from 1 KiB to 128 MiB",
			sizes: typicalSizes(), contenders: allContenders, pairs: against(1, 0.85),
		},
		{
			name: "many", what: "3,000 files of 4 KiB",
			sizes: provider.Repeat(3000, 4*provider.KiB),
			contenders: func(b bench) []contender.Contender {
				return append(allContenders(b), contender.BareLoop())
			},
			pairs: []pair{
				{of: "syncd", against: []string{contender.CurlName}, wall: 1, cpu: 1},
				{of: "syncd", against: []string{contender.WgetName}},
				{of: "syncd", against: []string{contender.AriaName}, wall: 0.5},
				{of: contender.LoopName, against: []string{contender.CurlName}},
				{of: "syncd", against: []string{contender.LoopName}},
			},
		},
	}
}

func httpsRaces() []race {
	return []race{
		{
			name: "https-big", what: "7 files, 800 MiB, one of 500 MiB, over https",
			sizes: bigSizes(), over: https, contenders: httpsContenders, pairs: againstScripts(0.8, 0.8),
		},
		{
			name: "https-typical", what: "60 files from 1 KiB to 128 MiB, over https",
			sizes: typicalSizes(), over: https, contenders: httpsContenders, pairs: againstScripts(0.85, 0.85),
		},
		{
			name: "https-many", what: "3,000 files of 4 KiB, over https",
			sizes: provider.Repeat(3000, 4*provider.KiB), over: https,
			contenders: func(b bench) []contender.Contender {
				return []contender.Contender{b.syncd(), contender.CurlDefaults(), contender.BareLoop()}
			},
			pairs: []pair{
				{of: "syncd", against: []string{contender.CurlDefaultsName}, wall: 1, cpu: 1},
				{of: contender.LoopName, against: []string{contender.CurlDefaultsName}},
				{of: "syncd", against: []string{contender.LoopName}},
			},
		},
		{
			name: "capped", what: "one file of 120 MiB over https, 12 MB/s a connection, a round trip of 20 ms",
			sizes: []int64{120 * provider.MiB}, over: link.Link{HTTPS: true, Rate: 12e6, RoundTrip: 20 * time.Millisecond},
			contenders: func(b bench) []contender.Contender {
				return []contender.Contender{b.syncd(), contender.Aria("aria2 -x4 -s4", "-x4 -s4")}
			},
			pairs: []pair{{of: "syncd", against: []string{"aria2 -x4 -s4"}, wall: 0.9}},
		},
		{
			name: "segments", what: "one file of 512 MiB over https",
			sizes: []int64{512 * provider.MiB}, over: https,
			contenders: func(b bench) []contender.Contender {
				return []contender.Contender{
					contender.Syncd("syncd, segments: 4", b.binary, contender.Settings{Segments: 4}),
					contender.Syncd("syncd, segments: 1", b.binary, contender.Settings{Segments: 1}),
				}
			},
			pairs: []pair{{of: "syncd, segments: 4", against: []string{"syncd, segments: 1"}, wall: 1}},
		},
		distant("distant-60", 60, 1.1),
		distant("distant-600", 600, 1.3),
	}
}

// distant is a race over a long way, where the number of round trips decides.
func distant(name string, files int, wall float64) race {
	return race{
		name: name, what: fmt.Sprintf("%d files from 1 KiB to 1 MiB over https, a round trip of 50 ms", files),
		sizes: provider.Mixed(provider.Spread(files, provider.KiB, provider.MiB)),
		over:  link.Link{HTTPS: true, RoundTrip: 50 * time.Millisecond},
		contenders: func(b bench) []contender.Contender {
			return []contender.Contender{b.syncd(), contender.CurlDefaults()}
		},
		pairs: []pair{{of: "syncd", against: []string{contender.CurlDefaultsName}, wall: wall}},
	}
}

func bigSizes() []int64 {
	return provider.Mixed(append(provider.Repeat(6, 50*provider.MiB), 500*provider.MiB))
}

func typicalSizes() []int64 {
	return provider.Mixed(provider.Spread(60, provider.KiB, 128*provider.MiB))
}

// allContenders gives each tool the number of connections that was fastest for it, of 2,
// 4, 8, 16 and 32.
func allContenders(b bench) []contender.Contender {
	return []contender.Contender{
		b.syncd(), contender.Wget(16), contender.Curl("--parallel-max 8"), contender.Aria(contender.AriaName, "-j8"),
	}
}

// httpsContenders fetch files over HTTP/1.1, with which both scripts are faster than with
// HTTP/2 when files are large.
func httpsContenders(b bench) []contender.Contender {
	return []contender.Contender{b.syncd(), contender.Wget(16), contender.Curl("--parallel-max 8 --http1.1")}
}

// against returns the pairs of a race of all contenders.
func against(wall, cpu float64) []pair {
	return append(againstScripts(wall, cpu), pair{of: "syncd", against: []string{contender.AriaName}, wall: 0.5})
}

// againstScripts returns the pairs of a race against both scripts.
func againstScripts(wall, cpu float64) []pair {
	return []pair{
		{of: "syncd", against: []string{contender.WgetName}},
		{of: "syncd", against: []string{contender.CurlName}},
		{of: "syncd", against: []string{contender.WgetName, contender.CurlName}, wall: wall, cpu: cpu},
	}
}
