package daemon_test

import (
	"os"
	"testing"

	"syncd/internal/e2e"
)

// A user who owns the folder above data_dir chose which mirror, of root or of a third user, a
// command of root changed.
func TestLinkOfAnotherUserLeadsRootToNoOtherMirror(t *testing.T) {
	t.Parallel()
	for name, owner := range map[string]int{"of root": 0, "of a third user": e2e.OtherUID + 1} {
		h := e2e.AsRoot(t)
		h.Month("m", "2026.10", "one")
		h.Sync(0)
		mirror := h.Data + ".real"
		h.Must(os.Rename(h.Data, mirror))
		h.Must(os.Symlink(mirror, h.Data))
		h.Must(os.Lchown(h.Data, e2e.OtherUID, e2e.OtherGID))
		h.Must(os.Chown(mirror, owner, owner))
		for _, args := range [][]string{{"sync"}, {"rollback"}, {"run"}} {
			r := h.Expect(1, args...)
			h.Contains(name+": "+args[0], r.Stdout+r.Stderr, "leads through the link", h.Data, "another user can change: name the folder that it leads to")
		}
		h.Must(os.Chown(mirror, 0, 0))
		h.Must(os.Lchown(h.Data, 0, 0))
		h.Expect(0, "sync")
	}
}
