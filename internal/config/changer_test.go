package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"syncd/internal/config/document"
)

// systemd gives its user the Customer ID all the same.
func TestTheUnitsUserMayChangeTheConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "id")
	if err := os.WriteFile(file, []byte("1234567890"), 0o600); err != nil {
		t.Fatal(err)
	}
	cannot := func(func() error) error { return fs.ErrPermission }
	for user, isRead := range map[string]bool{"syncd": true, "mallory": false, "": false} {
		unit := func(string) (path, name string) { return file, "syncd" }
		c := Credential{env: &Environment{UnitCredential: unit}, reads: Changer{Name: user, Do: cannot}}
		id, err := c.Read()
		if isRead != (err == nil) || isRead && id.Reveal() != "1234567890" {
			t.Errorf("the changer %q: %v", user, err)
		}
	}
}

// Root without capabilities becomes nobody else, as in many containers.
func TestAProcessThatCannotBecomeTheChangerGoesByModes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "id")
	if err := os.WriteFile(file, []byte("1234567890"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, may := range []bool{true, false} {
		c := Changer{Name: "someone", Do: func(func() error) error { return fs.ErrPermission }, MayRead: func(string, fs.FileInfo) bool { return may }}
		data, err := c.Read(file, maxCredential)
		if may && string(data) != "1234567890" || !may && !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%v: %q, %v", may, data, err)
		}
		if !may && (len(data) > 0 || c.unreadable(document.Place{}, "syncd.yaml", err).Problem == "") {
			t.Error("the content was kept")
		}
	}
}
