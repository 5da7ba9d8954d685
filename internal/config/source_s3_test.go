package config

import (
	"strings"
	"testing"

	"syncd/internal/manifest"
)

const ofBucket = `source:
  s3: {endpoint: "https://s3.example.net", bucket: refdata, prefix: a/mirror/}
data_dir: /srv/mirror
manifests:
  - name: dq_addr_data
`

func TestFollowerOfABucketNeedsNoCustomerID(t *testing.T) {
	c := mustLoad(t, ofBucket)
	if url := c.Source.URL.String(); url != "https://s3.example.net/refdata/a/mirror/" || c.Source.URL.Path[0] != '/' || c.Source.Hash != manifest.SHA256 {
		t.Errorf("%s %s", url, c.Source.Hash)
	}
	if id, err := c.Source.ReadID(); id != "" || err != nil {
		t.Errorf("%v %v", id, err)
	}
	c = mustLoad(t, strings.Replace(ofBucket, "data_dir", "  customer_id: of-other-services\ndata_dir", 1))
	if id, err := c.Source.ReadID(); id.Reveal() != "of-other-services" || err != nil {
		t.Errorf("%v %v", id, err)
	}
	if _, err := mustLoad(t, minimal).Source.ReadID(); err == nil {
		t.Error("a source with url needs a Customer ID")
	}
}

func TestASignedSourceHasWholeManifestsOnly(t *testing.T) {
	signed := strings.Replace(minimal, "source:", "source:\n  trust_file: trust", 1)
	for _, entry := range []string{"product: Suite", "files: [Data/latest/a]"} {
		_, err := load(t, strings.Replace(signed, "manifests:", "manifests:\n  - name: one\n    "+entry, 1))
		if text := strings.Join(lines(err), "\n"); !strings.Contains(text, "manifests[0]: has product or files, which no signature of source.trust_file covers") {
			t.Errorf("%s: %s", entry, text)
		}
	}
}

func TestProblemsOfASourceInObjectStorage(t *testing.T) {
	for _, row := range []struct{ old, new, want string }{
		{"source:", "source:\n  url: https://releases.example.net", "source.s3: url is set too"},
		{", bucket: refdata", "", "source.s3.bucket: is missing"},
		{`endpoint: "https://s3.example.net", `, "", "source.s3.endpoint: is missing"},
		{"https://", "http://", "source.s3.endpoint: plain http"},
		{"data_dir", "  hash: MD5\ndata_dir", "source.hash: is not for a bucket"},
		{"dq_addr_data", "one\n    product: Suite", "manifests[0]: has product or files"},
		{"dq_addr_data", "one\n    files: [Data/latest/a]", "manifests[0]: has product or files"},
		{"manifests:", "publish: {s3: {endpoint: https://s3.example.net, bucket: refdata, prefix: a/mirror/}}\nmanifests:", "publish.s3: is the place that source.s3 follows"},
		{"prefix", "secret_key: hidden, prefix", "source.s3.secret_key: unknown key"},
	} {
		_, err := load(t, strings.Replace(ofBucket, row.old, row.new, 1))
		if text := strings.Join(lines(err), "\n"); !strings.Contains(text, row.want) || strings.Contains(text, "hidden") || len(lines(err)) != 1 {
			t.Errorf("%s: %s", row.new, text)
		}
	}
}
