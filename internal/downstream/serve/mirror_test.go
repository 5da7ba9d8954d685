package serve

import (
	"crypto/sha256"
	"net/http"
	"strings"
	"testing"

	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
)

// mirrorUpstream serves what a host has, also in the mirror's form.
func mirrorUpstream(t testing.TB, h *host, change func(*Config)) *upstream {
	t.Helper()
	texts, err := h.engine.Followers.Generations()
	must(t, err)
	return startUpstream(t, h.engine.Followers.Catalog(), func(cfg *Config) {
		cfg.Generations, cfg.Asker, cfg.Order = texts, ByFleet(h.engine.Followers.Fleet()), h.engine.Followers.Order
		if change != nil {
			change(cfg)
		}
	})
}

// text gets a text or a content of the mirror.
func (u *upstream) text(t testing.TB, name string, headers ...string) reply {
	t.Helper()
	return ask(t, http.MethodGet, withID(u.url()+"/-/mirror/"+name, followerID), headers...)
}

// newest reads the generation that current.json names.
func (u *upstream) newest(t testing.TB) (bucket.Current, bucket.Generation) {
	t.Helper()
	current, err := bucket.ParseCurrent([]byte(u.text(t, bucket.CurrentName).text))
	must(t, err)
	generation, err := bucket.ParseGeneration(current.Generation, []byte(u.text(t, bucket.GenerationName(current.Generation)).text))
	must(t, err)
	return current, generation
}

func TestAMirrorIsServedAsABucketHasIt(t *testing.T) {
	e := startProvider(t)
	h := startHost(t, e, entry("All_Classes"), entry("other"))
	publishFirst(e)
	h.sync()
	publishAll(e)
	h.sync()
	u := mirrorUpstream(t, h, nil)
	current, generation := u.newest(t)
	if len(generation.Manifests) != 2 || current.Publisher == "" {
		t.Errorf("%+v %+v", current, generation)
	}
	for _, m := range generation.Manifests {
		got := u.text(t, m.Record())
		if sum := sha256.Sum256([]byte(got.text)); manifest.ObjectID(sum) != m.RecordSHA256 || got.ContentLength != int64(len(got.text)) {
			t.Errorf("%s has another text: %d, %s", m.Record(), got.StatusCode, got.text)
		}
		record, err := bucket.ReadRecord(m, strings.NewReader(got.text))
		must(t, err)
		for _, f := range record.Files {
			got := u.text(t, bucket.ObjectName(f.Object))
			if sum := sha256.Sum256([]byte(got.text)); manifest.ObjectID(sum) != f.Object {
				t.Errorf("%s: %d, %s", f.Path, got.StatusCode, got.text)
			}
		}
	}
}
