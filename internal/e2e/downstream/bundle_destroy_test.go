package downstream_test

import (
	"os"
	"path/filepath"
	"testing"

	"syncd/internal/downstream/bundle"
	"syncd/internal/e2e"
	"syncd/internal/manifest/destruction"
)

// No Date header ever reaches a host that gets its data on disks.
func TestDataOfBundlesIsDestroyedByTime(t *testing.T) {
	t.Parallel()
	if bundle.Base().String() != destruction.Disk {
		t.Error("the orders of bundles have another source than their data")
	}
	for name, row := range map[string]struct {
		near, far, cause string
		isWatched        bool
	}{
		"own time, watched folder":             {"", "\n    destroy_after: 2s", "destroy_after", true},
		"time of the publisher, folder":        {"\n    destroy_after: 2s", "", "publisher", true},
		"own time, imported by hand":           {"", "\n    destroy_after: 2s", "destroy_after", false},
		"time of the publisher, by hand":       {"\n    destroy_after: 2s", "", "publisher", false},
		"shorter time of the publisher, watch": {"\n    destroy_after: 2s", "\n    destroy_after: 90d", "publisher", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGap(t, "one")
			if row.isWatched {
				g.far.Settings.Bucket = "bundles: " + e2e.NewDir(t)
			}
			g.near.Settings.Manifests, g.far.Settings.Manifests = []string{"one" + row.near}, []string{"one" + row.far}
			g.near.Configure()
			g.far.ConfigureWith("retain: 5\nretain_for: 24h")
			for _, month := range []string{"2026.09", "2026.10"} {
				g.near.Month("one", month, "secret of "+month)
				files := g.export(month + ".tar")
				g.take(0, files)
				g.far.Must(os.Remove(files[0]))
			}
			g.serves("secret of 2026.10")
			code := 0
			if !row.isWatched {
				code = 1 // nothing answers
			}
			g.far.Eventually("it is destroyed", func() bool {
				g.far.Sync(code)
				return len(holds(g.far, filepath.Join(g.far.Data, "revisions"), "secret of 2026.09")) == 0
			})
			e2e.Same(g.far, "cause", row.cause, destroyed(g.far)["2026.09"])
			g.serves("secret of 2026.10")
		})
	}
}
