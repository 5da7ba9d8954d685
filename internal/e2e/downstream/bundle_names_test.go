package downstream_test

import (
	"encoding/json"
	"os"
	"testing"

	"syncd/internal/e2e"
)

// An operator exports all for one host, then one manifest, then what another host lacks, to the
// same disk. Each bundle stays there, and the same one again takes no second place.
func TestABundleOfLessTakesNoPlaceOfAnother(t *testing.T) {
	t.Parallel()
	near := e2e.NewHost(t, "m", "n")
	near.Month("m", "2026.10", "m")
	near.Month("n", "2026.10", "n")
	near.Sync(0)
	disk := e2e.NewDir(t)
	near.Expect(0, "bundle", "receipt", "-o", near.Path("receipt"))
	exported, full := map[string]bool{}, ""
	for range 2 {
		for _, more := range [][]string{{}, {"m"}, {"n"}, {"n", "m"}, {"--since", near.Path("receipt")}, {"m", "--since", near.Path("receipt")}} {
			var done struct{ Files []string }
			near.Must(json.Unmarshal([]byte(near.Expect(0, append([]string{"bundle", "export", disk, "--json"}, more...)...).Stdout), &done))
			exported[done.Files[0]] = true
			if len(more) == 0 {
				full = done.Files[0]
			}
		}
	}
	e2e.Same(near, "bundles", 5, len(exported))
	names, err := os.ReadDir(disk)
	near.Must(err)
	e2e.Same(near, "files", 5, len(names))
	var shown struct{ Contents int }
	near.Must(json.Unmarshal([]byte(near.Expect(0, "bundle", "show", full, "--json").Stdout), &shown))
	e2e.Same(near, "contents of the bundle of all", 2, shown.Contents)
}
