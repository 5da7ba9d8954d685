package downstream_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/e2e"
)

// Beside a daemon, root exports as root. Everybody may read the bundle, so that it must have no
// other file in the place of a content than the mirrored one.
func TestABundleOfRootHasNoFileThatTheOwnerOfDataDirLinked(t *testing.T) {
	t.Parallel()
	for name, link := range map[string]func(file, name string) error{"symlink": os.Symlink, "hard link": os.Link} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e2e.AsRoot(t)
			h := e2e.NewHost(t, "one")
			content := strings.Repeat("a line of the mirrored file\n", 10_000)
			h.Month("one", "2026.09", content)
			h.Binary = e2e.CopyBinary(h)
			for _, path := range []string{h.Dir, h.Path("id")} {
				h.Must(os.Chown(path, e2e.OtherUID, e2e.OtherGID))
			}
			h.As = &syscall.Credential{Uid: e2e.OtherUID, Gid: e2e.OtherGID}
			h.SyncedDaemon()
			h.As = nil

			secret := h.Path("secret")
			h.Write("secret", strings.Repeat("a line that only root may read\n", 10_000), 0o600)
			sum := h.DigestOf(filepath.Join(h.Data, "current", "one", "one.dat"))
			object := filepath.Join(h.Data, "objects", sum[:2], sum)
			h.Must(os.Remove(object))
			h.Must(link(secret, object))
			bundle := h.Path("out.tar")
			says := h.Expect(1, "bundle", "export", bundle).Stderr
			if strings.Contains(says, "that only root may read") {
				t.Errorf("it says %s", says)
			}
			if text, err := os.ReadFile(bundle); !os.IsNotExist(err) {
				t.Errorf("there is a bundle: %v, as text: %t", err, bytes.Contains(text, []byte("only root")))
			}
		})
	}
}
