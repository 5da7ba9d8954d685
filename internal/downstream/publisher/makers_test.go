package publisher

import (
	"strings"
	"testing"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/report"
)

// hasConditions says which servers refuse a write whose condition does not hold.
var hasConditions = map[string]bool{"versitygw": true, "gofakes3": true}

// A single publisher works with each server. Where the server has no conditions, several are
// refused by name.
func TestServersOfThreeMakersArePublishedTo(t *testing.T) {
	for _, maker := range buckettest.Makers {
		t.Run(maker, func(t *testing.T) {
			server := buckettest.NewOf(t, maker)
			t.Setenv("AWS_ACCESS_KEY_ID", server.AccessKey)
			t.Setenv("AWS_SECRET_ACCESS_KEY", server.SecretKey)
			h := newHost(t)
			p := newPublisher(t, server.Endpoint, h, func(c *Config) { c.Place.Retry.MaxElapsed = 30 * time.Second })
			first := h.serve("addr", "2026.10", map[string]string{"a": "one", "empty": "", "big": large(maker, 40)})
			if done := mustPublish(t, p, Request{}); done.Generation != 1 || done.Objects != 3 {
				t.Errorf("%+v", done)
			}
			for _, f := range first.Files {
				if got := sum(string(file(t, server, bucket.ObjectName(f.Object)))); got != f.Object {
					t.Errorf("%s has other bytes in the bucket", f.Path)
				}
			}
			h.serve("addr", "2026.11", map[string]string{"a": "two"})
			if done := mustPublish(t, p, Request{Collect: true}); done.Generation != 2 || done.Collected == nil {
				t.Errorf("%+v", done)
			}
			current, err := bucket.ParseCurrent(file(t, server, bucket.CurrentName))
			if err != nil || current.Generation != 2 {
				t.Errorf("%+v, %v", current, err)
			}
			if done := mustPublish(t, p, Request{Check: true}); done.Result != report.UploadUnchanged {
				t.Errorf("%+v", done)
			}
			if done, err := p.Verify(t.Context(), Verify{Read: true}); err != nil || done.Result != report.UploadVerified {
				t.Errorf("%+v, %v", done, err)
			}
			electedOf(t, server, h, hasConditions[maker])
		})
	}
}

func electedOf(t *testing.T, server *buckettest.Server, h *host, works bool) {
	t.Helper()
	p := newPublisher(t, server.Endpoint, h, func(c *Config) { c.Lease = time.Hour })
	seen, err := Look(t.Context(), p.cfg.Place)
	if err != nil || seen.HasConditions != works || seen.Current.Generation != 2 {
		t.Errorf("%+v, %v", seen, err)
	}
	_, err = p.Upload(t.Context(), Request{})
	if works && err != nil || !works && (err == nil || !strings.Contains(err.Error(), "election: the S3 server "+p.cfg.Place.Endpoint.Host)) {
		t.Errorf("with an election: %v", err)
	}
}
