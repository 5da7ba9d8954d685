package adopt

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// bench is a folder with a candidate in shared/in/, where another user can write, and a file of
// others with the same name in private/.
type bench struct {
	*testing.T
	top       string
	into      *fsops.Dir
	folder    *Folder
	candidate Candidate
}

const name = "shared/in/file"

func newBench(t *testing.T) *bench {
	t.Helper()
	top, data := t.TempDir(), t.TempDir()
	b := &bench{T: t, top: top, candidate: Candidate{Path: name, Size: 6}}
	b.must(os.MkdirAll(b.at("shared/in"), 0o755), os.MkdirAll(b.at("private/in"), 0o755),
		os.WriteFile(b.at(name), []byte("wanted"), 0o600), os.WriteFile(b.at("private/in/file"), []byte("others"), 0o600))
	var err error
	b.into, err = fsops.OpenDir(data)
	b.must(err)
	t.Cleanup(func() { b.into.Close() })
	b.folder, err = Open(top, b.into, true)
	b.must(err)
	t.Cleanup(func() { b.folder.Close() })
	found, _, err := b.folder.Candidates(t.Context(), func(_ string, size int64) bool { return size == 6 })
	b.must(err)
	if len(found) != 2 {
		t.Fatalf("found %v", found)
	}
	return b
}

func (b *bench) at(name string) string { return filepath.Join(b.top, name) }

func (b *bench) must(errs ...error) {
	b.Helper()
	if err := errors.Join(errs...); err != nil {
		b.Fatal(err)
	}
}

// swap puts a link to private/ in the place of shared/.
func (b *bench) swap() {
	b.Helper()
	b.must(os.Rename(b.at("shared"), b.at("away")), os.Symlink("private", b.at("shared")))
}

// keeps fails if the file of others is gone.
func (b *bench) keeps() {
	b.Helper()
	if data, err := os.ReadFile(b.at("private/in/file")); err != nil || string(data) != "others" {
		b.Errorf("the file of others: %q, %v", data, err)
	}
}

func TestNoFileBehindALinkIsRemovedInThePlaceOfACopiedOne(t *testing.T) {
	b := newBench(t)
	b.swap()
	if _, _, err := b.folder.Copy(t.Context(), b.candidate, b.into, "early", manifest.SHA256, io.Discard); err == nil {
		t.Error("a file behind a link was copied")
	}
	others, err := os.Stat(b.at("private/in/file"))
	b.must(err, os.Remove(b.at("shared")), os.Rename(b.at("away"), b.at("shared")))
	_, copied, err := b.folder.Copy(t.Context(), b.candidate, b.into, "copy", manifest.SHA256, io.Discard)
	b.must(err)
	if os.SameFile(copied, others) {
		t.Error("the file of others counts as the copied one")
	}
	b.swap()
	if err := b.folder.Remove(b.candidate, others); err == nil {
		t.Error("a file behind a link was removed")
	}
	b.keeps()
	b.must(os.Remove(b.at("shared")), os.Rename(b.at("away"), b.at("shared")), b.folder.Remove(b.candidate, copied))
}

func TestNoFileBehindALinkIsMoved(t *testing.T) {
	b := newBench(t)
	b.swap()
	err := b.folder.Move(t.Context(), b.candidate, b.into, manifest.SHA256, io.Discard, func(*verify.Hasher) string { return "moved" })
	if err == nil {
		t.Error("a file behind a link was moved")
	}
	b.keeps()
}

// A download would go on with what lies at the name, such as a file that another user put
// in the place of the hashed one and can write into.
func TestNothingStaysAtTheNameOfADownloadWhenAMoveIsTakenBack(t *testing.T) {
	for _, isTaken := range []bool{false, true} {
		b := newBench(t)
		err := b.folder.Move(t.Context(), b.candidate, b.into, manifest.SHA256, io.Discard, func(*verify.Hasher) string {
			b.must(os.Rename(b.at(name), b.at("hashed")), os.WriteFile(b.at(name), []byte("planted"), 0o666))
			return "moved"
		})
		if err == nil {
			t.Error("a planted file was taken")
		}
		if isTaken {
			b.must(os.Rename(b.at(name), b.into.Path("moved")), os.WriteFile(b.at(name), nil, 0o600))
			dir, err := fsops.OpenDir(b.at("shared/in"))
			b.must(err)
			defer dir.Close()
			if err := giveBack(b.into, "moved", dir, "file"); err == nil || !strings.Contains(err.Error(), "it lies at") {
				t.Error(err)
			}
		}
		names, err := b.into.Names(".")
		b.must(err)
		if found, _ := filepath.Glob(b.at("shared/in/file*")); len(names) > 0 || len(found) != 1+map[bool]int{true: 1}[isTaken] {
			t.Errorf("the name is taken: %t, left are %q and %q", isTaken, names, found)
		}
	}
}

func TestAFolderIsJudgedByWhereItLies(t *testing.T) {
	top := t.TempDir()
	export, link := filepath.Join(top, "served"), filepath.Join(t.TempDir(), "link")
	for _, err := range []error{os.Mkdir(export, 0o755), os.Mkdir(filepath.Join(top, ".served.syncd"), 0o700), os.Symlink(export, link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	data, err := fsops.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	if f, err := Open(link, data, true); err == nil {
		t.Error("files were moved out of an export", f.Close())
	}
	f, err := Open(link, data, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if want, _ := filepath.EvalSymlinks(export); f.path != want {
		t.Errorf("it lies at %s, not at %s", f.path, want)
	}
}

func TestAFileInThePlaceOfACopiedOneStays(t *testing.T) {
	b := newBench(t)
	_, copied, err := b.folder.Copy(t.Context(), b.candidate, b.into, "copy", manifest.SHA256, io.Discard)
	b.must(err, os.Rename(b.at(name), b.at("away")), os.WriteFile(b.at(name), []byte("others"), 0o600),
		os.Chtimes(b.at(name), copied.ModTime(), copied.ModTime()))
	if err := b.folder.Remove(b.candidate, copied); err == nil {
		t.Error("it was removed")
	}
	if _, err := os.Lstat(b.at(name)); err != nil {
		t.Error(err)
	}
}
