package config

import (
	"strings"
	"testing"
	"time"
)

func TestPublish(t *testing.T) {
	c := mustLoad(t, minimal+`
publish: {s3: {endpoint: "https://s3.example.net/", bucket: refdata, prefix: mirror/, region: us-east-1, grace: 2d}}
election: {lease: 30s}
`)
	s3 := c.Publish.S3
	if s3.Endpoint.String() != "https://s3.example.net" || s3.Bucket != "refdata" || s3.Prefix != "mirror/" || s3.Region != "us-east-1" {
		t.Errorf("%+v", s3)
	}
	if c.Publish.Grace != 48*time.Hour || c.Election.Lease != 30*time.Second {
		t.Errorf("grace %v, lease %v", c.Publish.Grace, c.Election.Lease)
	}
}

func TestPublishIsOffByDefault(t *testing.T) {
	c := mustLoad(t, minimal)
	if c.Publish.S3.IsSet() || c.Publish.Grace != 72*time.Hour || c.Election.Lease != 0 {
		t.Errorf("%+v %+v", c.Publish, c.Election)
	}
}

func TestPublishProblems(t *testing.T) {
	const good = "endpoint: https://s3.example.net, bucket: refdata"
	for text, want := range map[string]string{
		"publish: {s3: {bucket: refdata}}":                                      "publish.s3.endpoint: is missing",
		"publish: {s3: {endpoint: https://s3.example.net}}":                     "publish.s3.bucket: is missing",
		"publish: {s3: {endpoint: http://s3.example.net, bucket: refdata}}":     "publish.s3.endpoint: plain http to a host that is not loopback",
		"publish: {s3: {endpoint: https://me@s3.example.net, bucket: refdata}}": "publish.s3.endpoint: has more than scheme, host and port",
		"publish: {s3: {endpoint: https://s3.example.net/refdata, bucket: r}}":  "publish.s3.endpoint: has more than scheme, host and port",
		"publish: {s3: {endpoint: s3, bucket: refdata}}":                        "publish.s3.endpoint: is not an http or https URL",
		"publish: {s3: {endpoint: https://s3.example.net, bucket: Ref/Data}}":   "publish.s3.bucket: is not the name of a bucket",
		"publish: {s3: {" + good + ", prefix: mirror}}":                         "publish.s3.prefix: is not a prefix of names",
		"publish: {s3: {" + good + ", prefix: ../}}":                            "publish.s3.prefix: is not a prefix of names",
		"publish: {s3: {" + good + ", region: a b}}":                            "publish.s3.region: is not the name of a region",
		"publish: {s3: {" + good + ", grace: 5m}}":                              "publish.s3.grace: is under an hour",
		"publish: {s3: {" + good + ", secret_key: hidden}}":                     "publish.s3.secret_key: unknown key",
		"publish: {s3: {" + good + "}}\nelection: {lease: 1s}":                  "election.lease: is not a number of seconds",
		"publish: {s3: {" + good + "}}\nelection: {lease: 1500ms}":              "election.lease: is not a number of seconds",
		"election: {lease: 60s}":                                                "election: needs publish.s3",
	} {
		_, err := load(t, minimal+text+"\n")
		got := strings.Join(lines(err), "\n")
		if !strings.Contains(got, want) || strings.Contains(got, "hidden") {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestPlainHTTPToS3NeedsConsent(t *testing.T) {
	text := strings.Replace(minimal, "data_dir", "  allow_insecure_http: true\ndata_dir", 1)
	mustLoad(t, text+"publish: {s3: {endpoint: http://s3.example.net, bucket: refdata}}\n")
	mustLoad(t, minimal+"publish: {s3: {endpoint: http://127.0.0.1:7070, bucket: refdata}}\n")
}
