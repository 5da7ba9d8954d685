package datadir

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
)

// stranger is another user. The kernel does not need an account.
const stranger = 23456

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root can make files of another user")
	}
}

// openForChangesAt opens a data directory and closes it.
func openForChangesAt(path string) error {
	d, err := OpenForChanges(path, &durable.Disk{})
	if err != nil {
		return err
	}
	return d.Close()
}

// openAt opens a data directory for reading and closes it.
func openAt(path string) error {
	d, err := Open(path)
	if err != nil {
		return err
	}
	return d.Close()
}

// listing describes everything below a folder.
func listing(t *testing.T, dir string) (lines []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			uid, gid := owner(info)
			lines = append(lines, strings.Join([]string{path, info.Mode().String(), info.ModTime().String(), string(rune('0' + uid)), string(rune('0' + gid))}, " "))
		}
		return err
	}))
	return lines
}

// prepared is a data directory with all its folders.
func prepared(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	must(t, openForChangesAt(dir))
	for _, folder := range Folders() {
		must(t, os.Mkdir(filepath.Join(dir, folder.Name), folder.Perm))
	}
	return dir
}

// wantRefused requires that both ways to open dir fail, name what is wrong and change
// nothing.
func wantRefused(t *testing.T, dir string, says ...string) {
	t.Helper()
	before := listing(t, dir)
	for _, err := range []error{Check(dir), openForChangesAt(dir), openAt(dir)} {
		if err == nil {
			t.Errorf("it was opened")
			continue
		}
		for _, text := range says {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("the error does not say %q: %v", text, err)
			}
		}
	}
	if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
		t.Errorf("something changed: %s", diff)
	}
}

// In a sticky folder such as /tmp, another user can plant a link in the moment in which
// syncd makes data_dir there. Root's chmod opened private folders that way.
func TestLinkPlantedWhileDataDirIsMadeIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	private := filepath.Join(dir, "private")
	must(t, os.Mkdir(private, 0o700), os.Symlink("private", filepath.Join(dir, "mirror")))
	parent, err := fsops.OpenDir(dir)
	must(t, err)
	defer parent.Close()
	must(t, makeIn(parent, "mirror"))
	if info, err := os.Stat(private); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestFolderThatIsASymlinkIsRefused(t *testing.T) {
	for _, folder := range Folders() {
		for name, target := range map[string]string{"outside": "", "another folder": "objects", "nothing": "none"} {
			t.Run(folder.Name+" to "+name, func(t *testing.T) {
				dir, victim := prepared(t), t.TempDir()
				must(t, os.WriteFile(filepath.Join(victim, "file"), []byte("content"), 0o640))
				if target == "" {
					target = victim
				}
				path := filepath.Join(dir, folder.Name)
				must(t, os.Remove(path), os.Symlink(target, path))
				wantRefused(t, dir, path, "is a symlink", "remove it")
				if data, err := os.ReadFile(filepath.Join(victim, "file")); err != nil || string(data) != "content" {
					t.Errorf("the victim holds %q, %v", data, err)
				}
			})
		}
	}
}

func TestFolderThatIsNoDirectoryIsRefused(t *testing.T) {
	for _, folder := range Folders() {
		dir := prepared(t)
		path := filepath.Join(dir, folder.Name)
		must(t, os.Remove(path), os.WriteFile(path, []byte("x"), 0o644))
		wantRefused(t, dir, path, "is not a directory", "move it away")
	}
}

func TestFolderOfAnotherUserIsRefused(t *testing.T) {
	asRoot(t)
	for _, folder := range Folders() {
		dir := prepared(t)
		path := filepath.Join(dir, folder.Name)
		must(t, os.Chown(path, stranger, stranger))
		err := openForChangesAt(dir)
		if err == nil || !strings.Contains(err.Error(), path+" belongs to user 23456") || !strings.Contains(err.Error(), "give the whole data_dir to one user") {
			t.Errorf("%v", err)
		}
		if err := openAt(dir); err == nil || !strings.Contains(err.Error(), "belongs to user") {
			t.Errorf("for reading: %v", err)
		}
	}
}

func TestPlantedEntriesOfFoldersAreRefused(t *testing.T) {
	for _, parent := range []string{"objects", "revisions", "state/records"} {
		dir := prepared(t)
		must(t, os.MkdirAll(filepath.Join(dir, parent), 0o700))
		path := filepath.Join(dir, parent, "ab")
		must(t, os.Symlink("../partial", path))
		if err := openForChangesAt(dir); err == nil || !strings.Contains(err.Error(), path+" is a symlink") {
			t.Errorf("symlink: %v", err)
		}
		must(t, os.Remove(path), os.Mkdir(path, 0o755))
		must(t, openForChangesAt(dir))
		if os.Geteuid() == 0 {
			must(t, os.Chown(path, stranger, stranger))
			if err := openForChangesAt(dir); err == nil || !strings.Contains(err.Error(), path+" belongs to user 23456") {
				t.Errorf("another user's: %v", err)
			}
		}
	}
}

func TestDataDirThatOthersCanWriteIsRefused(t *testing.T) {
	asRoot(t)
	rows := []struct {
		name     string
		perm     fs.FileMode
		uid, gid int
		says     string // "" if it is accepted
	}{
		{"private", 0o700, 0, 0, ""},
		{"readable", 0o755, 0, stranger, ""},
		{"writable for everyone", 0o777, 0, 0, "every user can write in"},
		{"writable for everyone, sticky", 0o777 | fs.ModeSticky, 0, 0, "every user can write in"},
		{"writable for a group", 0o775, 0, stranger, "members of group 23456 can write in"},
		{"writable for a group, sticky and setgid", 0o775 | fs.ModeSticky | fs.ModeSetgid, 0, stranger, "members of group 23456 can write in"},
		{"writable for the group of root, as in the image", 0o775, 0, 0, ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			dir := prepared(t)
			must(t, os.Chown(dir, row.uid, row.gid), os.Chmod(dir, row.perm))
			if row.says != "" {
				wantRefused(t, dir, row.says, dir)
				return
			}
			must(t, openForChangesAt(dir), openAt(dir))
		})
	}
}

func TestDataDirOfAnotherUserCanOnlyBeRead(t *testing.T) {
	asRoot(t)
	dir := filepath.Join(t.TempDir(), "data")
	must(t, os.Mkdir(dir, 0o755), os.Chown(dir, stranger, stranger), openAt(dir))
	if err := openForChangesAt(dir); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), dir+" belongs to user 23456") {
		t.Errorf("%v", err)
	}
	for _, folder := range Folders() {
		must(t, os.Mkdir(filepath.Join(dir, folder.Name), 0o755), os.Chown(filepath.Join(dir, folder.Name), stranger, stranger))
	}
	must(t, openAt(dir))
}

// runAs runs this test once more as another user, with the data directory in the
// environment variable SYNCD_TEST_DIR, and returns its output.
func runAs(t *testing.T, uid, gid uint32, dir string) string {
	t.Helper()
	for at := dir; at != "/" && at != os.TempDir(); at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && at != dir {
			must(t, os.Chmod(at, info.Mode().Perm()|0o011))
		}
	}
	binary := filepath.Join(filepath.Dir(dir), "test")
	data, err := os.ReadFile("/proc/self/exe")
	must(t, err, os.WriteFile(binary, data, 0o755))
	cmd := exec.Command(binary, "-test.run=^TestClaimInAnotherProcess$", "-test.v")
	cmd.Dir, cmd.Env = "/", append(os.Environ(), "SYNCD_TEST_DIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// TestClaimInAnotherProcess is the process of runAs.
func TestClaimInAnotherProcess(t *testing.T) {
	dir := os.Getenv("SYNCD_TEST_DIR")
	if dir == "" {
		return // it is the child process of another test
	}
	must(t, openForChangesAt(dir), os.Mkdir(filepath.Join(dir, "partial"), 0o700), openForChangesAt(dir), openAt(dir))
}

func TestFolderThatRootGaveToAGroupIsAccepted(t *testing.T) {
	asRoot(t)
	rows := []struct {
		name     string
		perm     fs.FileMode
		uid, gid int // of the folder
		ok       bool
	}{
		{"a Kubernetes volume with fsGroup", 0o775 | fs.ModeSetgid, 0, stranger, true},
		{"a volume of the image, with group 0", 0o775, 65532, 0, true},
		{"a folder of the user, which the group can write", 0o775, stranger, stranger, false},
		{"another user's, which the group can write", 0o775, 34567, stranger, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			must(t, os.Mkdir(dir, 0o755), os.Chown(dir, row.uid, row.gid), os.Chmod(dir, row.perm))
			out := runAs(t, stranger, uint32(row.gid), dir)
			if ok := strings.Contains(out, "--- PASS: TestClaimInAnotherProcess"); ok != row.ok {
				t.Errorf("accepted: %v\n%s", ok, out)
			}
		})
	}
}
