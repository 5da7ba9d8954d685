package serve

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A folder in which the daemon's user can write is no place for root's permissions.
func TestRootAddsNoIDToAFileOfRootThatAnotherUserLinkedTo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: this needs root")
	}
	const stranger = 23456
	root := t.TempDir()
	must(t, os.Chmod(filepath.Dir(root), 0o755))
	must(t, os.Chmod(root, 0o755))
	victim := filepath.Join(root, "victim") // a file of comments, such as in /etc/cron.d
	private := filepath.Join(root, "private")
	must(t, os.Mkdir(private, 0o700))
	folder := filepath.Join(root, "folder")
	must(t, os.Mkdir(folder, 0o755))
	must(t, os.Chown(folder, stranger, stranger))
	for name, target := range map[string]string{"link": victim, "link to nothing": filepath.Join(private, "new")} {
		must(t, os.WriteFile(victim, []byte("# nothing yet\n"), 0o644))
		path := filepath.Join(folder, "ids")
		must(t, os.Symlink(target, path))
		for _, given := range []string{path, filepath.Join(root, "by root")} {
			must(t, os.Symlink("folder/../folder/ids", filepath.Join(root, "by root")))
			_, _ = AddID(given, "one", "") // whether it fails depends on the target
			must(t, os.Remove(filepath.Join(root, "by root")))
		}
		must(t, os.Remove(path))
		if text, err := os.ReadFile(victim); err != nil || string(text) != "# nothing yet\n" {
			t.Errorf("%s: the victim holds %q, %v", name, text, err)
		}
		if left, err := os.ReadDir(private); err != nil || len(left) > 0 {
			t.Errorf("%s: %v, %v", name, left, err)
		}
	}
	ids := filepath.Join(folder, "ids")
	_, err := AddID(ids, "one", "")
	must(t, err)
	info, err := os.Lstat(ids)
	must(t, err)
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != stranger {
		t.Errorf("the file belongs to user %d", owner)
	}
	must(t, os.Chown(folder, 0, stranger))
	must(t, os.Chmod(folder, 0o775))
	if _, err := AddID(ids, "two", ""); err == nil || !strings.Contains(err.Error(), "chmod g-w") {
		t.Errorf("in a folder of a group: %v", err)
	}
}

// The daemon could not read it any more.
func TestRootLeavesTheFileOfIDsToItsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: this needs root")
	}
	ids := filepath.Join(t.TempDir(), "ids")
	must(t, os.WriteFile(ids, nil, 0o640))
	must(t, os.Chown(ids, 23456, 23457))
	_, err := AddID(ids, "one", "")
	must(t, err)
	info, err := os.Lstat(ids)
	must(t, err)
	if owner := info.Sys().(*syscall.Stat_t); owner.Uid != 23456 || owner.Gid != 23457 || info.Mode().Perm() != 0o640 {
		t.Errorf("the file belongs to user %d and group %d, with mode %v", owner.Uid, owner.Gid, info.Mode())
	}
}

func TestRootFollowsItsOwnLinksToTheIDs(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	must(t, os.Symlink("real", link))
	must(t, os.WriteFile(real, nil, 0o600))
	_, err := AddID(link, "one", "")
	must(t, err)
	all, err := ReadIDs(real)
	must(t, err)
	if len(all) != 1 {
		t.Errorf("%d ids", len(all))
	}
}

// Every user can open the folder, and lock what is open.
func TestALockOnTheFolderOfTheIDsHoldsUpNoChange(t *testing.T) {
	dir := t.TempDir()
	folder, err := os.Open(dir)
	must(t, err)
	defer folder.Close()
	must(t, syscall.Flock(int(folder.Fd()), syscall.LOCK_EX))
	changed := make(chan error, 1)
	go func() {
		_, err := AddID(filepath.Join(dir, "ids"), "one", "")
		changed <- errors.Join(err, RemoveID(filepath.Join(dir, "ids"), "one"))
	}()
	select {
	case err := <-changed:
		must(t, err)
	case <-time.After(time.Minute):
		t.Fatal("it waits for a lock that any user can hold")
	}
}
