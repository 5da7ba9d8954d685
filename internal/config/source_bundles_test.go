package config

import (
	"strings"
	"testing"

	"syncd/internal/clients/transport"
)

func TestBundlesStandInThePlaceOfAnAddress(t *testing.T) {
	const file = "source: {bundles: /media/in}\nmanifests: [{name: dq_addr_data}]\n"
	c, err := load(t, file)
	must(t, err)
	if c.Source.Bundles != "/media/in" || transport.PublicURL(c.Source.URL) != "bundle://disk/" {
		t.Errorf("%q, %s", c.Source.Bundles, c.Source.URL)
	}
	if id, err := c.Source.ReadID(); id != "" || err != nil {
		t.Errorf("a Customer ID is needed: %v", err)
	}
	for more, want := range map[string]string{
		", url: https://releases.example.net":                             "source.bundles: url or s3 is set too",
		", s3: {endpoint: https://s3.example.net, bucket: b, prefix: m/}": "source.bundles: url or s3 is set too",
		", hash: md5": "source.hash: is not for bundles",
	} {
		_, err := load(t, strings.Replace(file, "/media/in", "/media/in"+more, 1))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", more, err)
		}
	}
}
