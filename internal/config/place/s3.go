package place

import (
	"net/url"
	"regexp"
	"strings"

	"syncd/internal/clients/origin"
	"syncd/internal/config/document"
	"syncd/internal/config/value"
	"syncd/internal/downstream/bucket"
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

// Table has the keys of a place.
func (s *S3) Table() document.Table {
	return document.Table{
		"endpoint": document.Scalar(&s.Endpoint, parseEndpoint),
		"bucket":   document.Scalar(&s.Bucket, parseBucket),
		"prefix":   document.Scalar(&s.Prefix, parsePrefix),
		"region":   document.Scalar(&s.Region, parseRegion),
	}
}

// URL is the address of the place.
func (s S3) URL() *url.URL {
	u := *s.Endpoint
	u.Path = "/" + s.Bucket + "/" + s.Prefix
	return &u
}

// Check requires endpoint and bucket of a place that is set.
func Check(d *document.Decoder, path string, s S3, insecure bool) {
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
