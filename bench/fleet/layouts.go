package main

import "slices"

// outcome is how a release reaches all hosts of a layout.
type outcome struct {
	provider float64 // bytes that the provider sent
	origin   float64 // bytes that our own source sent: serve, or the bucket
	seconds  float64 // from the provider's release to the last host that serves it
}

// layout is a way to bring releases to hosts.
type layout struct {
	name     string
	simulate func(inputs, int) outcome
}

func layouts() []layout {
	return []layout{
		{"each host from the provider", fromProvider},
		{"one syncd with `serve`", fromServe},
		{"`serve` and a cache for each site", fromCaches},
		{"a bucket", fromBucket},
		{"`serve` and a peer-to-peer HTTP proxy on each host", fromPeers},
	}
}

func fromProvider(in inputs, hosts int) outcome {
	ends := share(polls(0, hosts, in.Poll), in.Release, in.Provider, min(in.ProviderEach, in.prove()))
	return outcome{float64(hosts) * in.Release, 0, last(ends)}
}

// mirrored returns when the first host serves the release. It finds it, on average, half
// an interval after the provider released it.
func (in inputs) mirrored() float64 {
	return in.Poll/2 + in.Release/min(in.Provider, in.ProviderEach, in.prove())
}

func fromServe(in inputs, hosts int) outcome {
	ends := share(polls(in.mirrored(), hosts, in.Poll), in.Release, in.serve(), in.prove())
	return outcome{in.Release, float64(hosts) * in.Release, last(ends)}
}

// fromCaches lets the first host of a site fill its cache. A host has the release when
// its own share of the cache's rate gave it, and not before the cache has it.
func fromCaches(in inputs, hosts int) outcome {
	all := polls(in.mirrored(), hosts, in.Poll)
	sites := (hosts + in.Site - 1) / in.Site
	firsts := all[:sites] // neighbours in time are of different sites
	filled := share(firsts, in.Release, in.serve(), in.CacheLink)
	var end float64
	for site := range sites {
		var own []float64
		for i := site; i < hosts; i += sites {
			own = append(own, all[i])
		}
		end = max(end, filled[site], last(share(own, in.Release, in.CacheLink, in.prove())))
	}
	return outcome{in.Release, float64(sites) * in.Release, end}
}

// fromBucket uploads the release once, and then has each host download it.
func fromBucket(in inputs, hosts int) outcome {
	uploaded := in.mirrored() + in.Release/min(in.OriginLink, in.BucketEach)
	ends := share(polls(uploaded, hosts, in.Poll), in.Release, in.Bucket, min(in.BucketEach, in.prove()))
	return outcome{in.Release, float64(hosts) * in.Release, last(ends)}
}

// fromPeers uses the bound of Kumar and Ross for fluid distribution (Peer-assisted file
// distribution, 2006): a host is bound by its own link, all together by what the source
// and the hosts can send. Hosts ask one after the other, so the last one begins late.
func fromPeers(in inputs, hosts int) outcome {
	down := min(in.HostLink, in.prove())
	n := float64(hosts)
	together := n * in.Release / (in.serve() + n*in.HostLink*in.PeerShare)
	end := max(last(polls(in.mirrored(), hosts, in.Poll))+in.Release/down, in.mirrored()+together)
	return outcome{in.Release, in.PeerCopies * in.Release, end}
}

func last(times []float64) float64 { return slices.Max(times) }
