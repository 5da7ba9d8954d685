package config

import (
	"strings"
	"testing"
	"time"
)

func TestSeveralPlacesToPublishTo(t *testing.T) {
	c := mustLoad(t, minimal+`
transfers: {bandwidth: 5MiB}
publish:
  s3:
    - {name: near, endpoint: "https://s3.example.net", bucket: refdata, grace: 2d}
    - {endpoint: "https://s3.example.org", bucket: far-data, prefix: a/}
`)
	if all := c.Publish.Targets; len(all) != 2 || all[0].Name != "near" || all[1].Name != "far-data" || all[1].Grace != 72*time.Hour || all[1].Prefix != "a/" {
		t.Errorf("%+v", all)
	}
	if c.Publish.S3.Bucket != "refdata" || c.Publish.Grace != 48*time.Hour || !c.Publish.Bandwidth.Equal(c.Transfers.Bandwidth) {
		t.Errorf("%+v", c.Publish)
	}
	one := mustLoad(t, minimal+"publish: {bandwidth: 1MiB, s3: {endpoint: \"https://s3.example.net\", bucket: refdata}}\n")
	if len(one.Publish.Targets) != 1 || one.Publish.Targets[0].Name != "" || one.Publish.Bandwidth.Equal(one.Transfers.Bandwidth) {
		t.Errorf("%+v", one.Publish)
	}
	const first = `{endpoint: "https://s3.example.net", bucket: refdata}`
	for text, want := range map[string]string{
		first + ", " + first: "publish.s3[1]: is the place of an entry above",
		first + `, {endpoint: "https://s3.example.org", bucket: refdata}`: "publish.s3[1]: has the name of an entry above",
		first + ", refdata":                    "publish.s3[1]: must be a mapping",
		first + ", {bucket: other}":            "publish.s3[1].endpoint: is missing",
		first + `, {name: a/b, bucket: other}`: "publish.s3[1].name",
	} {
		_, err := load(t, minimal+"publish: {s3: ["+text+"]}\n")
		if got := strings.Join(lines(err), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
