package config

import (
	"strings"
	"testing"
	"time"
)

func TestSeveralSources(t *testing.T) {
	_, rest, _ := strings.Cut(minimal, "data_dir")
	const (
		near = `{name: near, s3: {endpoint: "https://s3.example.net", bucket: refdata}, trust_file: trust}`
		far  = `{url: "https://mirror.example.net:9443", customer_id: another-id, trust_file: trust}`
	)
	file := func(sources ...string) string {
		return "source: [" + strings.Join(sources, ", ") + "]\ndata_dir" + rest
	}
	c := mustLoad(t, file(near, far))
	if all := c.Sources(); len(all) != 2 || all[0].Name != "near" || all[1].Name != "mirror.example.net:9443" || !all[0].S3.IsSet() ||
		all[0].Retry.MaxElapsed != 30*time.Second || all[1].Retry.MaxElapsed != 15*time.Minute {
		t.Errorf("%+v", all)
	}
	if id, err := c.Others[0].ReadID(); err != nil || id.Reveal() != "another-id" {
		t.Error(err)
	}
	bare := mustLoad(t, file(near, strings.Replace(far, ", customer_id: another-id", "", 1)))
	if _, err := bare.Others[0].ReadID(); err == nil || !strings.Contains(err.Error(), "source[1]: no Customer ID is configured; write customer_id_file into this entry") {
		t.Error(err)
	}
	for _, row := range []struct{ text, want string }{
		{file(near), "source: is a list of 1"},
		{file(near, near), "source[1]: has the name of a source above"},
		{file(near, strings.Replace(near, "name: near", "name: other", 1)), "source[1]: is a source above"},
		{file(near, strings.Replace(far, ", trust_file: trust", "", 1)), "source[1].trust_file: is not that of source[0]"},
		{file(near, "{bundles: /media/in, trust_file: trust}"), "source[1].bundles: is not for a list"},
		{file(near, "{name: x, trust_file: trust}"), "source[1].url: is missing"},
	} {
		_, err := load(t, row.text)
		if got := strings.Join(lines(err), "\n"); !strings.Contains(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.text, got, row.want)
		}
	}
}
