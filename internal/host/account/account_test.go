package account

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The kernel needs no account for these ids.
const strangerUID, strangerGID = 23456, 23457

func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: this needs root")
	}
}

func stranger(t *testing.T) Account {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chown(dir, strangerUID, strangerGID); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	a, err := OwnerOf(info)
	if err != nil || a.UID != strangerUID || a.GID != strangerGID || a.Name != "23456" || !slices.Equal(a.Groups, []int{strangerGID}) {
		t.Fatalf("%+v, %v", a, err)
	}
	return a
}

func TestWorkHasThePermissionsOfTheAccountOnly(t *testing.T) {
	asRoot(t)
	a, dir := stranger(t), t.TempDir()
	for path := dir; path != os.TempDir(); path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	private := filepath.Join(dir, "private")
	shared := filepath.Join(dir, "shared")
	if err := errors.Join(os.WriteFile(private, nil, 0o600), os.WriteFile(shared, nil, 0o640), os.Chown(shared, 0, strangerGID)); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		err := a.Do(func() error {
			_, err := os.ReadFile(shared)
			if err != nil {
				t.Errorf("a file of the group: %v", err)
			}
			_, err = os.ReadFile(private)
			return err
		})
		if !errors.Is(err, fs.ErrPermission) {
			t.Fatalf("a file of root: %v", err)
		}
		if _, err := os.ReadFile(private); err != nil || os.Geteuid() != 0 {
			t.Fatalf("the process changed, too: %v", err)
		}
	}
}

func TestAccountsAreFoundByNameAndNumber(t *testing.T) {
	root, err := Named("root")
	if err != nil || root.UID != 0 || root.Name != "root" {
		t.Errorf("%+v, %v", root, err)
	}
	number, err := Named("23456")
	if err != nil || number.UID != strangerUID {
		t.Errorf("%+v, %v", number, err)
	}
	if _, err := Named("no such user"); err == nil {
		t.Error("an unknown name was found")
	}
	more, err := number.WithGroups("0", "root")
	if err != nil || !slices.Contains(more.Groups, 0) || slices.Contains(number.Groups, 0) {
		t.Errorf("%+v, %v", more, err)
	}
	if _, err := number.WithGroups("no such group"); !errors.Is(err, ErrNoGroup) {
		t.Error("an unknown group was found")
	}
}
