package ring

import (
	"slices"
	"strconv"
	"time"

	"syncd/internal/config/document"
	"syncd/internal/config/value"
	"syncd/internal/manifest"
)

// Ring is a set of followers that see a new release at the same time.
type Ring struct {
	Name      string
	Delay     time.Duration // from when a release went live here until the ring sees it
	StopAbove float64       // share of an earlier ring's hosts that may refuse a release, 0 to 1; NeverStop for no limit

	AfterShare float64       // of the hosts of the ring before must serve the release, 0 for any
	AfterHosts int           // so many of them at least; 0 for a ring that begins by its delay alone
	MaxWait    time.Duration // for these hosts, then an operator is told
}

// NeverStop is a StopAbove that no share reaches.
const NeverStop = -1

// maxRings limits the rings.
const maxRings = 32

// Name accepts a ring's name that can stand between two slashes.
func Name(text string) (string, *document.Fault) {
	ring, f := value.PlainName(text)
	if f == nil && manifest.CheckSegment(ring) != nil {
		f = document.Refuse("is not a plain name", "use a form such as canary")
	}
	return ring, f
}

// List reads rings in the order in which they see a release.
func List(to *[]Ring) document.Setter {
	return func(d *document.Decoder, path string, n *document.Node) {
		if n.Null {
			return
		}
		if n.Kind != document.ListKind || len(n.Items) > maxRings {
			d.Fail(path, "must be a list of at most "+strconv.Itoa(maxRings)+" rings", "write it as [{name: canary, delay: 0s}, {name: rest, delay: 24h}]")
			return
		}
		for i, item := range n.Items {
			at := document.Index(path, i)
			d.SetPosition(at, item.At)
			ring := Ring{StopAbove: NeverStop, MaxWait: maxWait}
			document.Keys(document.Table{
				"name":       document.Scalar(&ring.Name, Name),
				"delay":      document.Scalar(&ring.Delay, value.Duration),
				"stop_above": document.Scalar(&ring.StopAbove, value.Percent),
				"after":      after(&ring),
				"max_wait":   document.Scalar(&ring.MaxWait, value.LongDuration),
			})(d, at, item)
			checkRing(d, at, ring, *to)
			if ring.AfterHosts == 0 {
				ring.MaxWait = 0
			}
			*to = append(*to, ring)
		}
	}
}

// maxWait is the default of a ring with `after`.
const maxWait = 48 * time.Hour

// after reads what hosts of the ring before must prove.
func after(ring *Ring) document.Setter {
	return func(d *document.Decoder, path string, n *document.Node) {
		if n.Null {
			return
		}
		document.Keys(document.Table{
			"share": document.Scalar(&ring.AfterShare, parseShare),
			"hosts": document.Scalar(&ring.AfterHosts, value.Integer(1, 1_000_000)),
		})(d, path, n)
		if ring.AfterShare == 0 && ring.AfterHosts == 0 && d.Valid(path, path+".share", path+".hosts") {
			d.Fail(path, "is empty", `write which hosts of the ring before must serve a release, such as {share: "80%", hosts: 3}`)
		}
		ring.AfterHosts = max(ring.AfterHosts, 1)
	}
}

func parseShare(text string) (float64, *document.Fault) {
	share, f := value.Percent(text)
	if f == nil && share == 0 {
		f = document.Refuse("is a share that no host must serve", `use a form such as "80%", or leave it out`)
	}
	return share, f
}

func checkRing(d *document.Decoder, path string, ring Ring, earlier []Ring) {
	switch {
	case !d.Valid(path+".name", path+".delay", path+".after", path+".max_wait"):
	case len(earlier) == 0 && ring.AfterHosts > 0:
		d.Fail(path+".after", "is on the first ring, which waits for no other", "move it to a later ring")
	case ring.AfterHosts == 0 && d.IsSet(path+".max_wait"):
		d.Fail(path+".max_wait", "is without after", "write after beside it: a ring without after waits for no proof")
	case ring.AfterHosts > 0 && ring.MaxWait <= 0:
		d.Fail(path+".max_wait", "is no time", "use a form such as 48h")
	case ring.Name == "":
		d.Fail(path+".name", "is missing", "give each ring a name such as canary")
	case slices.ContainsFunc(earlier, func(e Ring) bool { return e.Name == ring.Name }):
		d.Fail(path+".name", "names an earlier ring, too", "give each ring a name of its own")
	case len(earlier) > 0 && earlier[len(earlier)-1].Delay > ring.Delay:
		d.Fail(path+".delay", "is shorter than that of the ring before", "list the rings by their delays, the shortest first")
	}
}
