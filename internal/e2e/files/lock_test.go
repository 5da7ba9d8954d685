package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"syncd/internal/e2e"
)

// twin is a second host with the same provider and manifests.
func twin(h *e2e.Host) *e2e.Host {
	h.Helper()
	other := e2e.NewHostOf(h.T, h.Provider, h.Settings.Manifests...)
	other.Settings = h.Settings
	other.Configure()
	return other
}

func TestALockedSyncMakesExactlyWhatAnotherHostServes(t *testing.T) {
	t.Parallel()
	for _, hash := range []string{"SHA256", "MD5"} {
		h := e2e.NewHost(t, "one", "two")
		h.Settings.Source = "hash: " + hash
		h.Configure()
		h.Provider.SetManifest("one", "2026.10", e2e.TextFile("a", "1"), e2e.TextFile("b", "2"))
		h.Provider.SetManifest("two", "2026.10", e2e.TextFile("c", "3"))
		h.Sync(0)
		h.Expect(0, "lock", "-o", "lock.json")
		e2e.Same(h, "stdout", string(h.Read("lock.json")), h.Expect(0, "lock").Stdout)
		h.Provider.SetManifest("one", "2026.11", e2e.TextFile("a", "new"), e2e.TextFile("d", "4"))

		other := twin(h)
		r := other.Sync(0, "--locked", h.Path("lock.json"))

		e2e.Same(other, "release", "2026.10", r.Manifests[0].Release)
		e2e.Same(other, "published", h.Published("one"), other.Published("one"))
		e2e.Same(other, "lock of the twin", string(h.Read("lock.json")), other.Expect(0, "lock").Stdout)
		again := other.Sync(0, "--locked", h.Path("lock.json"))
		e2e.Same(other, "again", []any{false, "unchanged"}, []any{again.Changed, again.Manifests[1].Result})
		e2e.Same(other, "later", "2026.11", other.Sync(0).Manifests[0].Release)
		e2e.Same(other, "back", "2026.10", other.Sync(0, "--locked", h.Path("lock.json")).Manifests[0].Release)
		other.Expect(0, "verify")
	}
}

func TestALockFileLeavesOutWhatLeftTheConfiguration(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "one", "two")
	h.Provider.SetManifest("one", "2026.10", e2e.TextFile("a", "1"))
	h.Provider.SetManifest("two", "2026.10", e2e.TextFile("b", "2"))
	h.Sync(0)
	h.Settings.Manifests = []string{"one"}
	h.Configure()
	h.Sync(0)
	r := h.Expect(0, "lock", "-o", "lock.json")
	h.Contains("warning", r.Stderr, "two left the configuration", "syncd forget two")
	e2e.Same(h, "two is served", map[string]string{"b": h.Digest(strings.NewReader("2"))}, h.Published("two"))

	other := twin(h)
	other.Sync(0, "--locked", h.Path("lock.json"))
	e2e.Same(other, "lock of the twin", string(h.Read("lock.json")), other.Expect(0, "lock").Stdout)
	h.Sync(0, "--locked", h.Path("lock.json"))

	h.Settings.Manifests = []string{"three"}
	h.Configure()
	h.Contains("only orphans", h.Expect(1, "lock").Stderr, "no manifest of the configuration is served")
}

func TestALockedSyncWorksThroughADaemon(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "one")
	h.Provider.SetManifest("one", "2026.10", e2e.TextFile("a", "1"), e2e.TextFile("b", "2"))
	h.Sync(0)
	h.Expect(0, "lock", "-o", "lock.json")
	h.Provider.SetManifest("one", "2026.11", e2e.TextFile("a", "new"))
	other := twin(h)
	d := other.SyncedDaemon()
	r := other.Sync(0, "--locked", h.Path("lock.json"))
	e2e.Same(other, "release", "2026.10", r.Manifests[0].Release)
	d.Terminate()
}

func TestALockedSyncPublishesAllOrNothing(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "one", "two")
	h.Provider.SetManifest("one", "2026.10", e2e.TextFile("a", "1"))
	h.Provider.SetManifest("two", "2026.10", e2e.TextFile("b", "2"))
	h.Sync(0)
	h.Expect(0, "lock", "-o", "lock.json")
	h.Provider.SetManifest("two", "2026.10", e2e.TextFile("b", "republished"))
	other := twin(h)
	r := other.Sync(1, "--locked", h.Path("lock.json"))
	e2e.Same(other, "results", []string{"failed", "refused", "hash_mismatch"}, []string{r.Manifests[0].Result, r.Manifests[1].Result, r.Manifests[1].Reason})
	h.Contains("the other manifest", r.Manifests[0].Error, "not published, because another manifest of the lock file failed")
	e2e.Same(other, "current", "", other.Current())
	other.Sync(0) // the ordinary sync goes on
}

func TestLockFilesThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "one")
	h.Provider.SetManifest("one", "2026.10", e2e.TextFile("a", "1"))
	h.Contains("nothing served", h.Expect(1, "lock").Stderr, "no manifest of the configuration is served: run `syncd sync`")
	h.Sync(0)
	h.Expect(0, "lock", "-o", "lock.json")
	text := string(h.Read("lock.json"))
	for name, row := range map[string]struct {
		old, new, want string
		code           int
	}{
		"another digest":   {`"sha256": "`, `"sha256": "00`, "is not a SHA-256", 2},
		"another content":  {`"sha256": "6b`, `"sha256": "6c`, "the file was changed", 2},
		"a changed path":   {`"path": "a"`, `"path": "b"`, `"b" is not the path of Data/2026.10/a`, 2},
		"another file":     {`Data/2026.10/a`, `Data/2026.10/b`, `"a" is not the path of Data/2026.10/b`, 2},
		"a long list":      {`"listed": 1`, `"listed": 999999`, "1 files cannot be of a list of 999999", 2},
		"no list":          {`"listed": 1`, `"listed": -1`, "1 files cannot be of a list of -1", 2},
		"a bad name":       {`"name": "one"`, `"name": "\u001b[31m"`, "control character", 2},
		"a later release":  {`"release": "2026.10"`, `"release": "9999.10"`, "refused (bad_release)", 1},
		"a path outside":   {`"path": "a"`, `"path": "../a"`, "lock.json", 2},
		"another version":  {`"syncd_lock": 1`, `"syncd_lock": 2`, "not a lock file of version 1", 2},
		"another source":   {`"source": "http`, `"source": "http://else`, "but source.url is", 1},
		"another manifest": {`"name": "one"`, `"name": "two"`, "make them the same", 1},
	} {
		h.Write("lock.json", strings.Replace(text, row.old, row.new, 1), 0o644)
		h.Contains(name, h.Expect(row.code, "sync", "--locked", "lock.json").Stderr, row.want)
	}
	h.Write("lock.json", text, 0o644)
	h.Contains("manifests", h.Expect(2, "sync", "one", "--locked", "lock.json").Stderr, "leave one out")
	h.Expect(2, "sync", "--locked", "absent")
	h.Expect(1, "lock", "-o", "absent/lock.json")
	if matches, _ := filepath.Glob(h.Path(".tmp-*")); len(matches) > 0 {
		t.Errorf("left behind: %v", matches)
	}
	_ = os.Remove(h.Path("lock.json"))
}

func TestALockFileReplacesRegularFilesOnly(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "one")
	h.Provider.SetManifest("one", "2026.10", e2e.TextFile("a", "1"))
	h.Sync(0)
	h.Must(os.WriteFile(h.Path("target"), nil, 0o600))
	h.Must(errors.Join(os.Symlink("target", h.Path("link")), unix.Mkfifo(h.Path("fifo"), 0o600), os.Mkdir(h.Path("folder"), 0o755)))
	for _, name := range []string{"link", "fifo", "folder"} {
		before, err := os.Lstat(h.Path(name))
		h.Must(err)
		h.Contains(name, h.Expect(2, "lock", "-o", h.Path(name)).Stderr, "is not a regular file")
		after, err := os.Lstat(h.Path(name))
		h.Must(err)
		e2e.Same(h, name, before.Mode(), after.Mode())
	}
	h.Expect(0, "lock", "-o", h.Path("target"))
}
