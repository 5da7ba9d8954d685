package config

import (
	"slices"
	"time"

	"syncd/internal/config/document"
	"syncd/internal/config/place"
	"syncd/internal/config/value"
	"syncd/internal/host/rate"
	"syncd/internal/manifest"
)

// S3 is a place in object storage.
type S3 = place.S3

// Publish says where this host publishes what it mirrors.
type Publish struct {
	S3        S3             // the first target's; not set for none
	Targets   []place.Target // all of them
	Grace     time.Duration  // of the first target
	Bandwidth rate.Timetable // of all uploads together; as of all downloads, if it is not set
	Patches   Patches
}

// Patches says which patches are made for other hosts. The zero value is none.
type Patches struct {
	From     int     // revisions before the newest one that they start at
	MaxShare float64 // of a whole content that a patch may have, above 0 to 1
}

// Election says how several publishers of one bucket agree on the one that writes.
type Election struct {
	Lease time.Duration // 0 = there is no other publisher
}

func (d *decoder) publish(p *Publish) document.Setter {
	return document.Keys(document.Table{
		"s3":        place.Targets(&p.Targets, p.Grace),
		"bandwidth": document.Scalar(&p.Bandwidth, value.Bandwidth),
		"patches":   p.Patches.set,
	})
}

func (p *Patches) set(d *document.Decoder, path string, n *document.Node) {
	if n.Null {
		return
	}
	*p = Patches{From: 1, MaxShare: 0.6}
	document.Keys(document.Table{
		"from":      document.Scalar(&p.From, value.Integer(1, 10)),
		"max_share": document.Scalar(&p.MaxShare, value.Shrink),
	})(d, path, n)
}

func (e *Election) table() document.Table {
	return document.Table{"lease": document.Scalar(&e.Lease, parseLease)}
}

// checkPublish checks how the values of publish and election relate to others.
func (d *decoder) checkPublish(c *Config) {
	p := &c.Publish
	place.CheckTargets(d.Decoder, p.Targets, c.Source.AllowInsecureHTTP, func(at S3) bool {
		return slices.ContainsFunc(c.Sources(), func(s Source) bool { return s.S3.IsSet() && at.URL().String() == s.S3.URL().String() })
	})
	if len(p.Targets) > 0 {
		p.S3, p.Grace = p.Targets[0].S3, p.Targets[0].Grace
	}
	if !d.IsSet("publish.bandwidth") {
		p.Bandwidth = c.Transfers.Bandwidth
	}
	if d.IsSet("election.lease") && c.Election.Lease > 0 && !d.IsSet("publish.s3") {
		d.Fail("election", "needs publish.s3", "remove it, or say in publish.s3 where this host publishes")
	}
}

// checkBucket checks source.s3, which stands in the place of source.url.
func (d *decoder) checkBucket(path string, s *Source) {
	place.Check(d.Decoder, path+".s3", s.S3, s.AllowInsecureHTTP)
	if d.IsSet(path + ".url") {
		d.Fail(path+".s3", "url is set too", "keep url for the provider or another syncd, or s3 for a bucket")
	}
	if s.Hash != manifest.SHA256 {
		d.Fail(path+".hash", "is not for a bucket, which names contents by their SHA-256", "remove it")
	}
	if s.S3.IsSet() {
		s.URL = s.S3.URL()
	}
}

// ReadID returns the Customer ID. A follower of a bucket or of bundles needs none for that.
func (s Source) ReadID() (Secret, error) {
	if (s.S3.IsSet() || s.Bundles != "") && len(s.Credential.ways()) == 0 {
		return "", nil
	}
	return s.Credential.Read()
}

// A shorter lease than 5 s would not outlast a slow request.
const minLease, maxLease = 5 * time.Second, time.Hour

func parseLease(text string) (time.Duration, *document.Fault) {
	lease, f := value.Duration(text)
	if f == nil && lease != 0 && (lease < minLease || lease > maxLease || lease%time.Second != 0) {
		return 0, value.RefuseNumber(text, "is not a number of seconds from 5s to 1h", "use a form such as 60s")
	}
	return lease, f
}
