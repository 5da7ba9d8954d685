package fetcher

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/emulator"
	"syncd/internal/manifest"
)

func TestSweepKeepsOnlyWantedDownloads(t *testing.T) {
	dir := t.TempDir()
	digest := manifest.ObjectID{0xab}.Digest()
	other := manifest.Digest{Algorithm: manifest.MD5, Sum: [32]byte{0xcd}}
	if got := Name(other); got != "md5-cd"+strings.Repeat("00", 15) {
		t.Errorf("name %s", got)
	}
	for _, name := range []string{Name(digest), Name(digest) + validatorSuffix, Name(other), Name(other) + validatorSuffix, "md5-" + other.Hex()[1:] + validatorSuffix, "stray", ".hidden"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	must(t, os.MkdirAll(filepath.Join(dir, "folder", "within"), 0o700))
	must(t, Sweep(open(t, dir), map[string]bool{Name(digest): true}))
	if diff := cmp.Diff([]string{Name(digest), Name(digest) + validatorSuffix}, fileNames(t, dir)); diff != "" {
		t.Error(diff)
	}
	if err := Sweep(open(t, dir), nil); err != nil || len(fileNames(t, dir)) != 0 {
		t.Errorf("leftover files %v, %v", fileNames(t, dir), err)
	}
	if err := Sweep(nil, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestFetchIntoMissingFolderFails(t *testing.T) {
	b := newFixture(t, emulator.Random(2, 10), manifest.SHA256)
	dir := open(t, b.dir)
	must(t, os.Remove(b.dir))
	_, err := New(connect(t, b.URL(), patient, time.Minute), dir, Config{}).Fetch(t.Context(), b.file, -1, &watcher{})
	if !errors.Is(err, fs.ErrNotExist) || len(b.Requests()) != 0 {
		t.Errorf("%d requests, %v", len(b.Requests()), err)
	}
}
