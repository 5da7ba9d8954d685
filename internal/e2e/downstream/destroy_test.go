package downstream_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/e2e"
)

// holds lists the files below a folder with a text.
func holds(h *e2e.Host, root, text string) (found []string) {
	h.Helper()
	h.Must(filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), text) {
			found = append(found, path)
		}
		return err
	}))
	return found
}

// destroyed lists the causes of what a host destroyed, by release.
func destroyed(h *e2e.Host) map[string]string {
	h.Helper()
	var list []struct{ Release, Cause string }
	h.Must(json.Unmarshal([]byte(h.Expect(0, "destroyed", "--json").Stdout), &list))
	causes := map[string]string{}
	for _, d := range list {
		causes[d.Release] = d.Cause
	}
	return causes
}

// A release is destroyed at the publisher. It leaves the bucket, the followers over HTTP and
// those of the bucket, and the fleet tells who still holds it.
func TestADestroyedReleaseIsGoneEverywhere(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, []string{"m"})
	store := buckettest.New(t)
	p := publisherOf(u.Host, store)
	section := u.Settings.More
	u.serve("http")
	u.ConfigureWith(section + "\n" + u.Settings.More)
	u.Month("m", "2026.09", "secret of September")
	u.Sync(0)
	near, far := u.follow("near", ""), u.follow("far", "")
	reader := (&e2e.FollowerHost{Host: e2e.NewHostOf(t, u.Provider, "m"), Store: store, Front: p.front}).Follow()
	daemon := u.Daemon()
	everywhere := []*e2e.Host{near, far, reader.Host}
	for _, h := range everywhere {
		h.Sync(0)
	}
	u.Month("m", "2026.10", "October")
	onDemand(daemon)
	for _, h := range everywhere {
		h.Sync(0)
		h.Sync(0)
	}
	u.Contains("fleet", u.Expect(0, "fleet").Stdout, "HOLDS", "2026.10, 2026.09")
	u.Contains("destroy", u.Expect(0, "destroy", "m", "2026.09", "--yes").Stdout, "destroyed m 2026.09-")
	for _, root := range []string{u.Data, store.Path("")} {
		if left := holds(u.Host, root, "secret of September"); left != nil {
			t.Errorf("still in %q", left)
		}
	}
	u.Contains("fleet", u.Expect(0, "fleet").Stdout, "2026.09 of m was destroyed here. 2 hosts still have it: far/", "2026.09 (destroyed here)")
	near.Sync(0)
	u.Contains("fleet", u.Expect(0, "fleet").Stdout, "2026.09 of m was destroyed here. 1 host still has it: far/")
	_, page := daemon.Get("/")
	u.Contains("page", page, "2026.09 of m was destroyed here. 1 host still has it: far/")
	far.Sync(0)
	reader.Sync(0)
	u.Contains("fleet", u.Expect(0, "fleet").Stdout, "No host says that it still has it.")
	for _, h := range everywhere {
		if left := holds(h, h.Data, "secret of September"); left != nil {
			t.Errorf("still in %q", left)
		}
		e2e.Same(h, "served", "October", h.ServedContent("m"))
		e2e.Same(h, "destroyed", map[string]string{"2026.09": "publisher"}, destroyed(h))
	}
	daemon.Terminate()
}
