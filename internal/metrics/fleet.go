package metrics

import "github.com/prometheus/client_golang/prometheus"

// FleetHosts is a number of followers that are alike.
type FleetHosts struct {
	Ring, Release, State string
	Hosts                int
}

// Fleet is what the metrics show of the followers.
type Fleet struct {
	Hosts   []FleetHosts
	Stopped map[string]int // newest releases that a ring does not see, by ring
	Waiting map[string]int // manifests for whose newest release a ring waits for too long, by ring
}

// fleetCollector counts the followers at each scrape: every poll can change them.
type fleetCollector struct {
	read                    func() Fleet
	hosts, stopped, waiting *prometheus.Desc
}

func newFleetCollector(read func() Fleet) *fleetCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
	}
	return &fleetCollector{
		read: read,
		hosts: desc("fleet_hosts", "Followers by ring, release and state. The release is the served one, or for the states refused and failed the one that could not be taken; none or other if it is not served here.",
			"ring", "release", "state"),
		stopped: desc("fleet_stopped_releases", "Releases that a ring does not see because too many hosts of an earlier ring refused them, and that no newer one has replaced.", "ring"),
		waiting: desc("fleet_waiting_releases", "Releases that a ring has not seen for longer than its max_wait, because too few hosts of the ring before serve them.", "ring"),
	}
}

// Describe implements prometheus.Collector.
func (c *fleetCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.hosts
	descs <- c.stopped
	descs <- c.waiting
}

// Collect implements prometheus.Collector.
func (c *fleetCollector) Collect(found chan<- prometheus.Metric) {
	if c.read == nil {
		return
	}
	fleet := c.read()
	for _, h := range fleet.Hosts {
		found <- prometheus.MustNewConstMetric(c.hosts, prometheus.GaugeValue, float64(h.Hosts), h.Ring, h.Release, h.State)
	}
	for ring, releases := range fleet.Stopped {
		found <- prometheus.MustNewConstMetric(c.stopped, prometheus.GaugeValue, float64(releases), ring)
	}
	for ring, releases := range fleet.Waiting {
		found <- prometheus.MustNewConstMetric(c.waiting, prometheus.GaugeValue, float64(releases), ring)
	}
}
