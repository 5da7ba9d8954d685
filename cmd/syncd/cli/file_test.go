package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A user who can write above a folder can give its name to another one between two steps.
func TestAFileStaysInTheFolderThatWasOpened(t *testing.T) {
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, name) }
	write := func(text string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	}
	others := []string{"other/trust", "other/trust.next"}
	err := errors.Join(os.Mkdir(at("dir"), 0o700), os.Mkdir(at("other"), 0o700), os.WriteFile(at("dir/trust"), []byte("own"), 0o600))
	for _, name := range others {
		err = errors.Join(err, os.WriteFile(at(name), []byte("of others"), 0o600))
	}
	file, openErr := OpenFile(at("dir/trust"))
	if err = errors.Join(err, openErr, os.Rename(at("dir"), at("moved")), os.Symlink("other", at("dir"))); err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if text, perm, err := file.Read("", 100); string(text) != "own" || perm != 0o600 || err != nil {
		t.Errorf("read %q, %v, %v", text, perm, err)
	}
	if err := errors.Join(file.Replace("", 0o600, write("new")), file.Replace(".next", 0o600, write("next")), file.Remove(".next"), file.Remove(".next")); err != nil {
		t.Error(err)
	}
	if err := file.Create(0o600, write("again")); !errors.As(err, new(*UsageError)) {
		t.Errorf("a file that exists is made again: %v", err)
	}
	for _, name := range others {
		if text, err := os.ReadFile(at(name)); string(text) != "of others" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	left, err := os.ReadDir(at("moved"))
	if text, _ := os.ReadFile(at("moved/trust")); string(text) != "new" || len(left) != 1 {
		t.Errorf("%q, %v, %v", text, left, err)
	}
}

func TestNoLinkAndNoDeviceIsReadOrReplaced(t *testing.T) {
	top := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(top, "file"), nil, 0o600), os.Symlink("file", filepath.Join(top, "link"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(top, "link"), "/dev/null"} {
		file, err := OpenFile(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		_, _, readErr := file.Read("", 100)
		for _, err := range []error{readErr, file.Replace("", 0o600, func(io.Writer) error { return nil })} {
			if !errors.As(err, new(*UsageError)) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
