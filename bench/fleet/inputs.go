package main

// inputs of the simulation. Rates are in bytes per second, times in seconds.
type inputs struct {
	measured
	assumed
}

// measured are the figures that this machine gave, see measure.
type measured struct {
	ServeCPU float64 // CPU seconds of `serve` for each byte that it sends
	ProveCPU float64 // CPU seconds of a follower for each byte that it downloads, proves and writes
}

// assumed are figures of a network that nobody measured. docs/fleet.md lists them.
type assumed struct {
	Release      float64 // bytes of a release that are new
	Poll         float64 // between two polls of a host
	Provider     float64 // rate of the provider, for all hosts together
	ProviderEach float64 // rate of the provider for one host
	OriginLink   float64 // of the host with serve
	OriginCores  float64
	HostLink     float64 // of each host, both ways
	HostCores    float64 // that a host gives to a sync
	Site         int     // hosts behind one cache
	CacheLink    float64
	Bucket       float64 // rate of the bucket, for all hosts together
	BucketEach   float64 // rate of the bucket for one host
	PeerShare    float64 // of a host's link that peers may use
	PeerCopies   float64 // how often peers fetch a release from the source, all together
}

const (
	gigabyte = 1e9
	gigabit  = 1e9 / 8
)

func assumptions() assumed {
	return assumed{
		Release:      6 * gigabyte,
		Poll:         15 * 60,
		Provider:     2 * gigabit,
		ProviderEach: 0.2 * gigabit,
		OriginLink:   10 * gigabit,
		OriginCores:  2,
		HostLink:     1 * gigabit,
		HostCores:    2,
		Site:         50,
		CacheLink:    10 * gigabit,
		Bucket:       100 * gigabit,
		BucketEach:   1 * gigabit,
		PeerShare:    0.5,
		PeerCopies:   3,
	}
}

// serve returns the rate at which `serve` sends: of its link, or of its cores.
func (in inputs) serve() float64 { return min(in.OriginLink, in.OriginCores/in.ServeCPU) }

// prove returns the rate at which a host takes a release: of its link, or of its cores.
func (in inputs) prove() float64 { return min(in.HostLink, in.HostCores/in.ProveCPU) }
