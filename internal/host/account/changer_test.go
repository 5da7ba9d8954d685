package account

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestTheChangerOfAFileIsTheOwnerOfItOrOfALinkOrFolderOnItsPath(t *testing.T) {
	asRoot(t)
	dir := t.TempDir()
	folder, file, link := filepath.Join(dir, "folder"), filepath.Join(dir, "folder", "file"), filepath.Join(dir, "link")
	err := errors.Join(os.Mkdir(folder, 0o755), os.WriteFile(file, nil, 0o644), os.Symlink("folder/file", link))
	for _, owned := range []string{"", folder, file} {
		if owned != "" {
			err = errors.Join(err, os.Chown(owned, strangerUID, strangerGID))
		}
		for _, path := range []string{file, link} {
			info, statErr := os.Stat(path)
			changer, changerErr := ChangerOf(path, info)
			if err = errors.Join(err, statErr, changerErr); err != nil {
				t.Fatal(err)
			}
			if changer.IsOther() != (owned != "") {
				t.Errorf("%s with %q of another user: %+v", path, owned, changer)
			}
		}
		if owned != "" {
			err = os.Chown(owned, 0, 0)
		}
	}
}

// A file that was opened and replaced still has what its owner wrote.
func TestTheOwnerOfAnOpenedFileIsItsChangerAlsoOnceItIsGone(t *testing.T) {
	asRoot(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := errors.Join(os.WriteFile(file, nil, 0o644), os.Chown(file, strangerUID, strangerGID)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err == nil {
		err = os.Remove(file)
	}
	if changer, changerErr := ChangerOf(file, info); err != nil || changerErr != nil || changer.UID != strangerUID {
		t.Errorf("%+v, %v, %v", changer, err, changerErr)
	}
}
