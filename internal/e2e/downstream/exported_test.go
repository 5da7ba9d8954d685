package downstream_test

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"syncd/internal/e2e"
)

// Somebody who can write the bucket puts there what the publisher exported before it published a
// correction. The key of the publisher signed that, and its number is higher.
func TestWhatWasExportedIsNotTakenFromABucket(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "one")
	signs(p.Host, "mirror.example.net")
	p.publishWith(p.Settings.More)
	p.Month("one", "2026.10", "before")
	p.Sync(0)
	p.Expect(0, "bundle", "export", p.Path("old.tar"))
	p.Month("one", "2026.10", "corrected")
	p.Sync(0)
	f := p.follower()
	f.Settings.Source = "trust_file: " + p.Path("trust")
	f.Configure()
	f.Sync(0)
	good, err := os.ReadFile(p.store.Path("mirror/current.json"))
	p.Must(err)
	file, err := os.Open(p.Path("old.tar"))
	p.Must(err)
	defer file.Close()
	for members := tar.NewReader(file); ; {
		member, err := members.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		p.Must(err)
		data, err := io.ReadAll(members)
		p.Must(err)
		if !strings.HasPrefix(member.Name, "bundle.") {
			p.store.Put("mirror/"+member.Name, data)
		}
	}
	e2e.Same(f.Host, "reason", "upstream_rollback", f.Sync(1).Manifests[0].Reason)
	e2e.Same(f.Host, "served", "corrected", f.ServedContent("one"))
	p.store.Put("mirror/current.json", good)
	f.Sync(0)
}
