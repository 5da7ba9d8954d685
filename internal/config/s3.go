package config

import (
	"net/url"
	"regexp"
	"strings"
	"time"

	"syncd/internal/clients/origin"
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
	S3    S3
	Grace time.Duration // what no generation names is kept in the bucket for so long
}

// Election says how several publishers of one bucket agree on the one that writes.
type Election struct {
	Lease time.Duration // 0 = there is no other publisher
}

func (s *S3) table() table {
	return table{
		"endpoint": scalar(&s.Endpoint, parseEndpoint),
		"bucket":   scalar(&s.Bucket, parseBucket),
		"prefix":   scalar(&s.Prefix, parsePrefix),
		"region":   scalar(&s.Region, parseRegion),
	}
}

func (d *decoder) publish(p *Publish) setter {
	all := p.S3.table()
	all["grace"] = scalar(&p.Grace, parseGrace)
	return keys(table{"s3": keys(all)})
}

func (e *Election) table() table { return table{"lease": scalar(&e.Lease, parseLease)} }

// checkPublish checks how the values of publish and election relate to others.
func (d *decoder) checkPublish(c *Config) {
	d.checkS3("publish.s3", c.Publish.S3, c.Source.AllowInsecureHTTP)
	if c.Publish.S3.IsSet() && c.Source.S3.IsSet() && c.Publish.S3.URL().String() == c.Source.S3.URL().String() {
		d.fail("publish.s3", fault{"is the place that source.s3 follows", "remove one of them, or use another prefix"})
	}
	if d.isSet("election.lease") && c.Election.Lease > 0 && !d.isSet("publish.s3") {
		d.fail("election", fault{"needs publish.s3", "remove it, or say in publish.s3 where this host publishes"})
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
	d.checkS3("source.s3", s.S3, s.AllowInsecureHTTP)
	if d.isSet("source.url") {
		d.fail("source.s3", fault{"url is set too", "keep url for the provider or another syncd, or s3 for a bucket"})
	}
	if s.Hash != manifest.SHA256 {
		d.fail("source.hash", fault{"is not for a bucket, which names contents by their SHA-256", "remove it"})
	}
	if s.S3.IsSet() {
		s.URL = s.S3.URL()
	}
}

// ReadID returns the Customer ID. A follower of a bucket needs none for that.
func (s Source) ReadID() (Secret, error) {
	if s.S3.IsSet() && len(s.Credential.ways()) == 0 {
		return "", nil
	}
	return s.Credential.Read()
}

// checkS3 requires endpoint and bucket of a place that is set.
func (d *decoder) checkS3(path string, s S3, insecure bool) {
	if !d.isSet(path) {
		return
	}
	if !d.isSet(path + ".endpoint") {
		d.fail(path+".endpoint", fault{"is missing", "write the address of the S3 service, such as https://s3.example.net"})
	}
	if !d.isSet(path + ".bucket") {
		d.fail(path+".bucket", fault{"is missing", "write the name of the bucket"})
	}
	if s.IsSet() && s.Endpoint.Scheme == "http" && !origin.IsLoopback(s.Endpoint.Hostname()) && !insecure {
		d.fail(path+".endpoint", fault{
			"plain http to a host that is not loopback is insecure: others on the network could change the data",
			"use https, or set source.allow_insecure_http: true if the network is trusted",
		})
	}
}

// parseEndpoint accepts scheme, host and port.
func parseEndpoint(text string) (*url.URL, *fault) {
	u, f := parseURL(text)
	if f != nil {
		return nil, &fault{f.problem, "use a form such as https://s3.example.net"}
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || u.User != nil {
		return nil, &fault{"has more than scheme, host and port", "write the bucket in bucket, and set the credentials in the environment"}
	}
	u.Path = ""
	return u, nil
}

var (
	bucketPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	regionPattern = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
)

func parseBucket(text string) (string, *fault) {
	if !bucketPattern.MatchString(text) || strings.Contains(text, "..") {
		return "", &fault{"is not the name of a bucket", "use 3 to 63 lower-case letters, digits, dots and dashes"}
	}
	return text, nil
}

func parsePrefix(text string) (string, *fault) {
	if bucket.CheckPrefix(text) != nil || len(text) > 512 {
		return "", &fault{"is not a prefix of names", "use a form such as mirror/, with a slash at the end"}
	}
	return text, nil
}

func parseRegion(text string) (string, *fault) {
	if text != "" && !regionPattern.MatchString(text) {
		return "", &fault{"is not the name of a region", "use a form such as us-east-1"}
	}
	return text, nil
}

// minGrace is longer than a follower needs between its poll and its downloads.
const minGrace = time.Hour

func parseGrace(text string) (time.Duration, *fault) {
	grace, f := parseLongDuration(text)
	if f == nil && grace < minGrace {
		return 0, &fault{"is under an hour", "followers must be able to finish their downloads: use a form such as 72h or 3d"}
	}
	return grace, f
}

// A shorter lease than 5 s would not outlast a slow request.
const minLease, maxLease = 5 * time.Second, time.Hour

func parseLease(text string) (time.Duration, *fault) {
	lease, f := parseDuration(text)
	if f == nil && lease != 0 && (lease < minLease || lease > maxLease || lease%time.Second != 0) {
		return 0, &fault{"is not a number of seconds from 5s to 1h", "use a form such as 60s"}
	}
	return lease, f
}
