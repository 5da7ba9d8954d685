package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// regional are figures of a fleet in regions that nobody measured.
type regional struct {
	Regions  int
	Link     float64 // rate of the link between the root and a region
	Failed   float64 // share of the hosts that are down until Recovery after the release
	Recovery float64
	Canaries float64 // share of the hosts of a region that see a release first
	Share    float64 // of them that must prove it
}

func regionalAssumptions() regional {
	return regional{Regions: 5, Link: 1 * gigabit, Failed: 0.02, Recovery: 4 * 3600, Canaries: 0.05, Share: 0.8}
}

// fleetOutcome is how a release reaches all hosts of a fleet in regions.
type fleetOutcome struct {
	rootLink   float64 // bytes that the root sent
	regionLink float64 // bytes that a region sent, or its bucket
	begins     float64 // when the last ring of the slowest region begins
	running    float64 // when the last host serves it that was not down
	last       float64 // when the last host serves it
}

// carrier is how a region gives a release to its hosts.
type carrier struct {
	name          string
	rate, own     float64
	uploads, site float64 // seconds before hosts can fetch it; copies that the region sends in the place of one for each host, 0 for all
}

func (in inputs) carriers() []carrier {
	return []carrier{
		{name: "one syncd with `serve` in each region", rate: in.serve(), own: in.prove()},
		{name: "the same, and a cache for each site", rate: in.CacheLink, own: in.prove(), site: float64(in.Site)},
		{name: "a bucket in each region", rate: in.Bucket, own: min(in.BucketEach, in.prove()), uploads: in.Release / min(in.OriginLink, in.BucketEach)},
	}
}

// throughRegions simulates a fleet of two levels: the canaries of each region take the release
// first. A ring begins when enough of them told in a poll that they serve it. Hosts that are down
// prove nothing, and take the release at their first poll after they are back.
func throughRegions(in inputs, g regional, c carrier, hosts int) (o fleetOutcome) {
	// Each region finds the release within its own interval, and fetches it over its own link.
	// All share the rate of the root.
	got := share(polls(in.mirrored(), g.Regions, in.Poll), in.Release, in.serve(), min(g.Link, in.prove()))
	o.rootLink = float64(g.Regions) * in.Release
	each := hosts / g.Regions
	canaries := max(int(float64(each)*g.Canaries), 1)
	o.regionLink = float64(each) * in.Release
	if c.site > 0 {
		o.regionLink = math.Ceil(float64(each)/c.site) * in.Release
	}
	for _, at := range got {
		at += c.uploads
		// The canaries that run are fewer; the needed share is of those that polled in the last
		// day, so those that are down count.
		down := int(math.Round(float64(canaries) * g.Failed))
		needed := int(math.Ceil(float64(canaries) * g.Share))
		proven := in.taken(c, at, canaries-down)
		began := at + g.Recovery + in.Poll
		if needed <= len(proven) {
			began = proven[needed-1] + in.Poll // they tell it in their next poll
		}
		rest := each - canaries
		restDown := int(math.Round(float64(rest) * g.Failed))
		running := last(in.taken(c, began, max(rest-restDown, 1)))
		o.begins, o.running = max(o.begins, began), max(o.running, running)
		end := running
		if restDown+down > 0 {
			end = max(end, last(in.taken(c, max(began, in.Poll/2+g.Recovery), restDown+down)))
		}
		o.last = max(o.last, end)
	}
	return o
}

// taken returns when hosts have a release that a carrier offers from a time on, in order.
func (in inputs) taken(c carrier, at float64, hosts int) []float64 {
	starts := polls(at, hosts, in.Poll)
	if c.site == 0 {
		return share(starts, in.Release, c.rate, c.own)
	}
	// Each site fetches one copy from the region; its hosts share the rate of its cache.
	sites := int(math.Ceil(float64(hosts) / c.site))
	filled := share(starts[:sites], in.Release, in.serve(), in.CacheLink)
	ends := make([]float64, 0, hosts)
	for site := range sites {
		var own []float64
		for i := site; i < hosts; i += sites {
			own = append(own, starts[i])
		}
		for _, end := range share(own, in.Release, c.rate, c.own) {
			ends = append(ends, max(end, filled[site]))
		}
	}
	slices.Sort(ends)
	return ends
}

// levels is the table of fleets in regions.
func levels(in inputs) string {
	const hosts = 10_000
	g := regionalAssumptions()
	var b strings.Builder
	fmt.Fprintf(&b, "%d hosts in %d regions below one root, with rings by proof and hosts that are down: a release of %.0f GB. Bytes are in releases.\n\n", hosts, g.Regions, in.Release/gigabyte)
	b.WriteString("| in each region | the provider sent | the root sent | over the link of a region | a region sent | the last ring begins | the last host that runs | the last host |\n|---|---|---|---|---|---|---|---|\n")
	for _, c := range in.carriers() {
		o := throughRegions(in, g, c, hosts)
		row := []string{c.name, "1", fmt.Sprintf("%.0f", o.rootLink/in.Release), "1", fmt.Sprintf("%.0f", o.regionLink/in.Release)}
		for _, seconds := range []float64{o.begins, o.running, o.last} {
			row = append(row, fmt.Sprintf("%.0f s (%s)", seconds, short(time.Duration(seconds*float64(time.Second)).Round(time.Minute))))
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
}
