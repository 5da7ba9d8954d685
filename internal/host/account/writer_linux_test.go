package account

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestModesSayWhatAnAccountMayRead(t *testing.T) {
	asRoot(t)
	a, dir := stranger(t), t.TempDir()
	for path := dir; path != os.TempDir(); path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	folder, file := filepath.Join(dir, "folder"), filepath.Join(dir, "folder", "file")
	if err := errors.Join(os.Mkdir(folder, 0o755), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		uid, gid     int
		file, folder fs.FileMode
		want         bool
	}{
		{0, 0, 0o600, 0o755, false},
		{0, 0, 0o644, 0o755, true},
		{0, 0, 0o644, 0o700, false},
		{0, strangerGID, 0o640, 0o755, true},
		{0, strangerGID, 0o604, 0o755, false},
		{strangerUID, 0, 0o400, 0o755, true},
		{strangerUID, 0, 0o044, 0o755, false},
	} {
		if err := errors.Join(os.Chown(file, c.uid, c.gid), os.Chmod(file, c.file), os.Chmod(folder, c.folder)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.MayRead(file, info); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}
