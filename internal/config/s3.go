package config

import (
	"net/url"
	"regexp"
	"strings"
	"time"

	"syncd/internal/clients/origin"
	"syncd/internal/config/document"
	"syncd/internal/config/value"
	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
)

// S3 is a place in object storage. Its credentials come from the environment, the shared
// credentials file or the instance's role, and never from the configuration.
type S3 struct {
	Endpoint *url.URL // scheme, host and port; nil = none is configured
	Bucket   string
	Prefix   string // "" or ends in a slash
	Region   string // "" = a publisher asks the server, and a follower takes us-east-1
}

// IsSet is true when a place is configured.
func (s S3) IsSet() bool { return s.Endpoint != nil }

// Publish says where this host publishes what it mirrors.
type Publish struct {
	S3      S3
	Grace   time.Duration // what no generation names is kept in the bucket for so long
	Patches Patches
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

func (s *S3) table() document.Table {
	return document.Table{
		"endpoint": document.Scalar(&s.Endpoint, parseEndpoint),
		"bucket":   document.Scalar(&s.Bucket, parseBucket),
		"prefix":   document.Scalar(&s.Prefix, parsePrefix),
		"region":   document.Scalar(&s.Region, parseRegion),
	}
}

func (d *decoder) publish(p *Publish) document.Setter {
	all := p.S3.table()
	all["grace"] = document.Scalar(&p.Grace, parseGrace)
	return document.Keys(document.Table{"s3": document.Keys(all), "patches": p.Patches.set})
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
	checkS3(d.Decoder, "publish.s3", c.Publish.S3, c.Source.AllowInsecureHTTP)
	if c.Publish.S3.IsSet() && c.Source.S3.IsSet() && c.Publish.S3.URL().String() == c.Source.S3.URL().String() {
		d.Fail("publish.s3", "is the place that source.s3 follows", "remove one of them, or use another prefix")
	}
	if d.IsSet("election.lease") && c.Election.Lease > 0 && !d.IsSet("publish.s3") {
		d.Fail("election", "needs publish.s3", "remove it, or say in publish.s3 where this host publishes")
	}
}

// URL is the address of the place.
func (s S3) URL() *url.URL {
	u := *s.Endpoint
	u.Path = "/" + s.Bucket + "/" + s.Prefix
	return &u
}

// checkBucket checks source.s3, which stands in the place of source.url.
func (d *decoder) checkBucket(s *Source) {
	checkS3(d.Decoder, "source.s3", s.S3, s.AllowInsecureHTTP)
	if d.IsSet("source.url") {
		d.Fail("source.s3", "url is set too", "keep url for the provider or another syncd, or s3 for a bucket")
	}
	if s.Hash != manifest.SHA256 {
		d.Fail("source.hash", "is not for a bucket, which names contents by their SHA-256", "remove it")
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

// checkS3 requires endpoint and bucket of a place that is set.
func checkS3(d *document.Decoder, path string, s S3, insecure bool) {
	if !d.IsSet(path) {
		return
	}
	if !d.IsSet(path + ".endpoint") {
		d.Fail(path+".endpoint", "is missing", "write the address of the S3 service, such as https://s3.example.net")
	}
	if !d.IsSet(path + ".bucket") {
		d.Fail(path+".bucket", "is missing", "write the name of the bucket")
	}
	if s.IsSet() && s.Endpoint.Scheme == "http" && !origin.IsLoopback(s.Endpoint.Hostname()) && !insecure {
		d.Fail(path+".endpoint", "plain http to a host that is not loopback is insecure: others on the network could change the data",
			"use https, or set source.allow_insecure_http: true if the network is trusted")
	}
}

// parseEndpoint accepts scheme, host and port.
func parseEndpoint(text string) (*url.URL, *document.Fault) {
	u, f := value.URL(text)
	if f != nil {
		return nil, document.Refuse(f.Problem, "use a form such as https://s3.example.net")
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || u.User != nil {
		return nil, document.Refuse("has more than scheme, host and port", "write the bucket in bucket, and set the credentials in the environment")
	}
	u.Path = ""
	return u, nil
}

var (
	bucketPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	regionPattern = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
)

func parseBucket(text string) (string, *document.Fault) {
	if !bucketPattern.MatchString(text) || strings.Contains(text, "..") {
		return "", document.Refuse("is not the name of a bucket", "use 3 to 63 lower-case letters, digits, dots and dashes")
	}
	return text, nil
}

func parsePrefix(text string) (string, *document.Fault) {
	if bucket.CheckPrefix(text) != nil || len(text) > 512 {
		return "", document.Refuse("is not a prefix of names", "use a form such as mirror/, with a slash at the end")
	}
	return text, nil
}

func parseRegion(text string) (string, *document.Fault) {
	if text != "" && !regionPattern.MatchString(text) {
		return "", document.Refuse("is not the name of a region", "use a form such as us-east-1")
	}
	return text, nil
}

// minGrace is longer than a follower needs between its poll and its downloads.
const minGrace = time.Hour

func parseGrace(text string) (time.Duration, *document.Fault) {
	grace, f := value.LongDuration(text)
	if f == nil && grace < minGrace {
		return 0, value.RefuseNumber(text, "is under an hour", "followers must be able to finish their downloads: use a form such as 72h or 3d")
	}
	return grace, f
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
