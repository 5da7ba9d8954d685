package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"syncd/internal/emulator"
)

// twin is a second host with the same provider and manifests.
func (h *host) twin() *host {
	h.Helper()
	other := newHostOf(h.T, h.provider, h.settings.manifests...)
	other.settings = h.settings
	other.configure()
	return other
}

func textFile(name, text string) emulator.File {
	return emulator.File{Name: name, Content: emulator.Text(text)}
}

func TestALockedSyncMakesExactlyWhatAnotherHostServes(t *testing.T) {
	t.Parallel()
	for _, hash := range []string{"SHA256", "MD5"} {
		h := newHost(t, "one", "two")
		h.settings.source = "hash: " + hash
		h.configure()
		h.provider.SetManifest("one", "2026.10", textFile("a", "1"), textFile("b", "2"))
		h.provider.SetManifest("two", "2026.10", textFile("c", "3"))
		h.sync(0)
		h.expect(0, "lock", "-o", "lock.json")
		same(h, "stdout", string(h.read("lock.json")), h.expect(0, "lock").stdout)
		h.provider.SetManifest("one", "2026.11", textFile("a", "new"), textFile("d", "4"))

		other := h.twin()
		r := other.sync(0, "--locked", h.path("lock.json"))

		same(other, "release", "2026.10", r.Manifests[0].Release)
		same(other, "published", h.published("one"), other.published("one"))
		same(other, "lock of the twin", string(h.read("lock.json")), other.expect(0, "lock").stdout)
		again := other.sync(0, "--locked", h.path("lock.json"))
		same(other, "again", []any{false, "unchanged"}, []any{again.Changed, again.Manifests[1].Result})
		same(other, "later", "2026.11", other.sync(0).Manifests[0].Release)
		same(other, "back", "2026.10", other.sync(0, "--locked", h.path("lock.json")).Manifests[0].Release)
		other.expect(0, "verify")
	}
}

func TestALockFileLeavesOutWhatLeftTheConfiguration(t *testing.T) {
	t.Parallel()
	h := newHost(t, "one", "two")
	h.provider.SetManifest("one", "2026.10", textFile("a", "1"))
	h.provider.SetManifest("two", "2026.10", textFile("b", "2"))
	h.sync(0)
	h.settings.manifests = []string{"one"}
	h.configure()
	h.sync(0)
	r := h.expect(0, "lock", "-o", "lock.json")
	h.contains("warning", r.stderr, "two left the configuration", "syncd forget two")
	same(h, "two is served", map[string]string{"b": h.digest(strings.NewReader("2"))}, h.published("two"))

	other := h.twin()
	other.sync(0, "--locked", h.path("lock.json"))
	same(other, "lock of the twin", string(h.read("lock.json")), other.expect(0, "lock").stdout)
	h.sync(0, "--locked", h.path("lock.json"))

	h.settings.manifests = []string{"three"}
	h.configure()
	h.contains("only orphans", h.expect(1, "lock").stderr, "no manifest of the configuration is served")
}

func TestALockedSyncWorksThroughADaemon(t *testing.T) {
	t.Parallel()
	h := newHost(t, "one")
	h.provider.SetManifest("one", "2026.10", textFile("a", "1"), textFile("b", "2"))
	h.sync(0)
	h.expect(0, "lock", "-o", "lock.json")
	h.provider.SetManifest("one", "2026.11", textFile("a", "new"))
	other := h.twin()
	d := other.daemon()
	d.logged("sync")
	r := other.sync(0, "--locked", h.path("lock.json"))
	same(other, "release", "2026.10", r.Manifests[0].Release)
	d.terminate()
}

func TestALockedSyncPublishesAllOrNothing(t *testing.T) {
	t.Parallel()
	h := newHost(t, "one", "two")
	h.provider.SetManifest("one", "2026.10", textFile("a", "1"))
	h.provider.SetManifest("two", "2026.10", textFile("b", "2"))
	h.sync(0)
	h.expect(0, "lock", "-o", "lock.json")
	h.provider.SetManifest("two", "2026.10", textFile("b", "republished"))
	other := h.twin()
	r := other.sync(1, "--locked", h.path("lock.json"))
	same(other, "results", []string{"failed", "refused", "hash_mismatch"}, []string{r.Manifests[0].Result, r.Manifests[1].Result, r.Manifests[1].Reason})
	h.contains("the other manifest", r.Manifests[0].Error, "not published, because another manifest of the lock file failed")
	same(other, "current", "", other.current())
	other.sync(0) // the ordinary sync goes on
}

func TestLockFilesThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()
	h := newHost(t, "one")
	h.provider.SetManifest("one", "2026.10", textFile("a", "1"))
	h.contains("nothing served", h.expect(1, "lock").stderr, "no manifest of the configuration is served: run `syncd sync`")
	h.sync(0)
	h.expect(0, "lock", "-o", "lock.json")
	text := string(h.read("lock.json"))
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
		h.write("lock.json", strings.Replace(text, row.old, row.new, 1), 0o644)
		h.contains(name, h.expect(row.code, "sync", "--locked", "lock.json").stderr, row.want)
	}
	h.write("lock.json", text, 0o644)
	h.contains("manifests", h.expect(2, "sync", "one", "--locked", "lock.json").stderr, "leave one out")
	h.expect(2, "sync", "--locked", "absent")
	h.expect(1, "lock", "-o", "absent/lock.json")
	if matches, _ := filepath.Glob(h.path(".tmp-*")); len(matches) > 0 {
		t.Errorf("left behind: %v", matches)
	}
	_ = os.Remove(h.path("lock.json"))
}

func TestALockFileReplacesRegularFilesOnly(t *testing.T) {
	t.Parallel()
	h := newHost(t, "one")
	h.provider.SetManifest("one", "2026.10", textFile("a", "1"))
	h.sync(0)
	h.must(os.WriteFile(h.path("target"), nil, 0o600))
	h.must(errors.Join(os.Symlink("target", h.path("link")), unix.Mkfifo(h.path("fifo"), 0o600), os.Mkdir(h.path("folder"), 0o755)))
	for _, name := range []string{"link", "fifo", "folder"} {
		before, err := os.Lstat(h.path(name))
		h.must(err)
		h.contains(name, h.expect(2, "lock", "-o", h.path(name)).stderr, "is not a regular file")
		after, err := os.Lstat(h.path(name))
		h.must(err)
		same(h, name, before.Mode(), after.Mode())
	}
	h.expect(0, "lock", "-o", h.path("target"))
}
