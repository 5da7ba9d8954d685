package export

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"syncd/internal/disk/fsops"
	"syncd/internal/host/account"
	"syncd/internal/mirror/record"
)

func TestFolderFollowsTheSource(t *testing.T) {
	b := newBench(t)
	b.exports(Options{})
	if changed, err := b.follow(Options{Thorough: true}); err != nil || changed {
		t.Errorf("nothing is new: changed %v, %v", changed, err)
	}
	b.release("2")
	b.exports(Options{})
	b.source.Generation = 7 // another manifest was published
	b.source.Files = func() []record.TreeFile {
		t.Error("the files were listed although the folder shows the tree")
		return nil
	}
	if changed, err := b.follow(Options{}); err != nil || changed {
		t.Errorf("the same tree: changed %v, %v", changed, err)
	}
	b.shows()
}

func TestFolderIsMadeOfHardLinks(t *testing.T) {
	b := newBench(t)
	b.exports(Options{})
	for name := range b.files {
		from, err := os.Stat(filepath.Join(b.top, "source1", name))
		b.must(err)
		to, err := os.Stat(filepath.Join(b.target.Path, name))
		b.must(err)
		if !os.SameFile(from, to) || to.Mode().Perm() != 0o444 {
			t.Errorf("%s: %v", name, to.Mode())
		}
	}
	if info, err := os.Stat(filepath.Join(b.target.Path, "lib")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(b.work()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestReaderKeepsItsOpenFileAndFolder(t *testing.T) {
	b := newBench(t)
	b.exports(Options{})
	folder, err := os.OpenRoot(b.target.Path)
	b.must(err)
	defer folder.Close()
	b.release("2")
	b.exports(Options{})
	if data, err := folder.ReadFile("us.dat"); err != nil || string(data) != "us 1" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestOldTreeGoesAfterItsTime(t *testing.T) {
	b := newBench(t)
	b.exports(Options{})
	b.release("2")
	b.exports(Options{})
	if b.kept() != 1 {
		t.Fatalf("%d trees are kept", b.kept())
	}
	b.target.KeepFor = 0
	if _, err := b.follow(Options{}); err != nil || b.kept() != 0 {
		t.Errorf("%v, %d trees are kept", err, b.kept())
	}
	if names := listing(t, b.work()); len(names) != 4 { // itself, owner, mark, list
		t.Errorf("%q", names)
	}
}

func TestFilesOfOthersInAnOldTreeAreGivenBack(t *testing.T) {
	for name, write := range map[string]func(dir *os.Root) error{
		"a new file": func(dir *os.Root) error { return dir.WriteFile("lib/mine", []byte("mine"), 0o600) },
		"a replaced file": func(dir *os.Root) error {
			return errors.Join(dir.WriteFile("mine", []byte("mine"), 0o600), dir.Rename("mine", "us.dat"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.exports(Options{})
			program, err := os.OpenRoot(b.target.Path) // such as a program that runs in the folder
			b.must(err)
			defer program.Close()
			b.release("2")
			b.exports(Options{})
			b.must(write(program))
			b.target.KeepFor = 0
			b.release("3")
			b.exports(Options{})
			kept := b.target.Path + keptSuffix
			if !slices.ContainsFunc(listing(t, kept), func(path string) bool {
				data, _ := os.ReadFile(path)
				return string(data) == "mine"
			}) {
				t.Errorf("the file of the program is gone: %q", listing(t, filepath.Dir(b.target.Path)))
			}
			b.release("4")
			b.exports(Options{})
			if b.kept() != 0 {
				t.Errorf("left: %q", listing(t, b.work()))
			}
		})
	}
}

func TestADamagedListNeedsATakeOver(t *testing.T) {
	b := newBench(t)
	b.exports(Options{})
	lists, err := filepath.Glob(filepath.Join(b.work(), "*"+listSuffix))
	b.must(err)
	b.must(os.WriteFile(lists[0], []byte("damaged"), 0o600))
	b.refuses(Options{Thorough: true}, "damaged", "--take-over refdata")
	if _, err := Verify(t.Context(), b.target, 0, nil); err == nil || !strings.Contains(err.Error(), "--take-over refdata") {
		t.Errorf("verify: %v", err)
	}
	b.exports(Options{TakeOver: true})
	b.holds(b.target.Path+keptSuffix, b.filesOf("1"))
}

func TestKeptTreeIsUsedAgain(t *testing.T) {
	b := newBench(t)
	b.exports(Options{})
	first, files := b.source, b.files
	before, err := os.Stat(b.target.Path)
	b.must(err)
	b.release("2")
	b.exports(Options{})
	first.Generation = 3
	b.source, b.files = first, files
	b.exports(Options{})
	after, err := os.Stat(b.target.Path)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("another tree: %v", err)
	}
	b.target.KeepFor = 0
	if _, err := b.follow(Options{}); err != nil || b.kept() != 0 {
		t.Errorf("%v, %d trees are kept", err, b.kept())
	}
	b.shows()
}

func TestEmptyFolderIsTaken(t *testing.T) {
	b := newBench(t)
	b.must(os.MkdirAll(b.target.Path, 0o755))
	b.exports(Options{})
	if b.kept() != 0 {
		t.Error("the empty folder is kept")
	}
}

func TestFolderOfOthersIsRefusedUntilItIsTakenOver(t *testing.T) {
	b := newBench(t)
	kept := b.target.Path + keptSuffix
	notes := map[string]string{"notes": "mine"}
	b.must(os.MkdirAll(b.target.Path, 0o755), os.WriteFile(filepath.Join(b.target.Path, "notes"), []byte("mine"), 0o644))
	b.refuses(Options{}, `"notes"`, "--take-over refdata", kept)
	b.exports(Options{TakeOver: true})
	b.holds(kept, notes)

	b.must(os.Remove(filepath.Join(b.target.Path, "us.dat")))
	b.refuses(Options{TakeOver: true}, kept, "move it away")
	b.holds(kept, notes)
	b.must(os.Rename(kept, kept+".1"))
	b.exports(Options{TakeOver: true})
	delete(b.files, "us.dat")
	b.holds(kept, b.files)
}

func TestFolderChangedByHandIsRefused(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"new file":      func(path string) error { return os.WriteFile(path+"/new", nil, 0o644) },
		"new folder":    func(path string) error { return os.Mkdir(path+"/new", 0o755) },
		"new link":      func(path string) error { return os.Symlink("/etc", path+"/new") },
		"removed":       func(path string) error { return os.Remove(path + "/us.dat") },
		"replaced":      func(path string) error { return replace(path+"/us.dat", "us 1") },
		"linked":        func(path string) error { return linkAway(path + "/us.dat") },
		"written to":    func(path string) error { return os.WriteFile(path+"/lib/readme", []byte("SAME IN ALL"), 0o444) },
		"linked folder": func(path string) error { return linkAway(path + "/lib") },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.exports(Options{})
			b.must(change(b.target.Path))
			next := "--take-over refdata"
			if name == "written to" { // it is a hard link to the source's file
				next = "syncd verify --repair"
			}
			b.refuses(Options{Thorough: true}, "was changed since it was exported", next)
			b.release("2")
			b.refuses(Options{}, "was changed since it was exported")
			b.exports(Options{TakeOver: true})
		})
	}
}

// A file of the folder is the mirror's own file: damage through it must not be exported again.
func TestDamageOfTheSourceIsNotTakenOver(t *testing.T) {
	b := newBench(t)
	b.exports(Options{})
	file := filepath.Join(b.target.Path, "us.dat")
	b.must(os.Chmod(file, 0o644), os.WriteFile(file, []byte("US!1"), 0o444))
	for _, o := range []Options{{Thorough: true}, {TakeOver: true}} {
		b.refuses(o, `"us.dat" is damaged in the mirror`, "`syncd verify --repair` replaces both")
	}
	b.must(os.WriteFile(file, []byte("us 1"), 0o444), os.Chtimes(file, time.Time{}, time.Unix(1, 0)))
	b.refuses(Options{Thorough: true}, `"us.dat" has changed`, "--take-over refdata")
	b.exports(Options{TakeOver: true})
}

func replace(path, text string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o444)
}

func linkAway(path string) error {
	if err := os.Rename(path, path+".away"); err != nil {
		return err
	}
	return os.Symlink(path+".away", path)
}

func TestPathsThatOthersControlAreRefusedByName(t *testing.T) {
	const stranger = 23456
	for name, row := range map[string]struct {
		prepare func(b *bench) error
		word    string
	}{
		"file":      {func(b *bench) error { return os.WriteFile(b.target.Path, nil, 0o644) }, "is not a folder"},
		"link":      {func(b *bench) error { return os.Symlink(b.top, b.target.Path) }, "is a symlink"},
		"dead link": {func(b *bench) error { return os.Symlink("nowhere", b.target.Path) }, "is a symlink"},
		"linked parent": {func(b *bench) error {
			b.target.Path = filepath.Join(b.top, "alias", "refdata")
			return os.Symlink("srv", filepath.Join(b.top, "alias"))
		}, "alias is a symlink"},
		"open parent":           {func(b *bench) error { return os.Chmod(filepath.Dir(b.target.Path), 0o777) }, "every user can write"},
		"open and sticky":       {func(b *bench) error { return os.Chmod(filepath.Dir(b.target.Path), 0o777|os.ModeSticky) }, "every user can write"},
		"open directory above":  {func(b *bench) error { return os.Chmod(b.top, 0o777) }, "every user can write"},
		"another user's parent": {func(b *bench) error { return os.Chown(filepath.Dir(b.target.Path), stranger, -1) }, "belongs to user 23456: run `chown 0` on it"},
		"a group's parent": {func(b *bench) error {
			dir := filepath.Dir(b.target.Path)
			return join(os.Chown(dir, -1, stranger), os.Chmod(dir, 0o775))
		}, "members of group 23456"},
		"linked work folder": {func(b *bench) error { return os.Symlink(b.top, b.work()) }, "is not the folder that syncd makes"},
		"open work folder":   {func(b *bench) error { return join(os.Mkdir(b.work(), 0o777), os.Chmod(b.work(), 0o777)) }, "is not the folder that syncd makes"},
		"used work folder":   {func(b *bench) error { return os.MkdirAll(filepath.Join(b.work(), "tree-x"), 0o755) }, "is not the folder that syncd makes"},
		"in a data_dir": {func(b *bench) error {
			return os.WriteFile(filepath.Join(filepath.Dir(b.target.Path), ".syncd-data-dir"), nil, 0o444)
		}, "lies in the data_dir"},
	} {
		t.Run(name, func(t *testing.T) {
			if os.Geteuid() != 0 {
				t.Skip("NOT TESTED: needs root")
			}
			b := newBench(t)
			b.must(os.Mkdir(filepath.Dir(b.target.Path), 0o755), row.prepare(b))
			b.refuses(Options{TakeOver: name != "another user's parent"}, row.word)
		})
	}
}

// A group can exchange what lies in a folder, whoever owns that.
func TestAFolderOfRootThatAGroupCanWriteIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: needs root")
	}
	const user, group = 23456, 23457
	top := t.TempDir()
	must := func(errs ...error) {
		if err := join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	parent := filepath.Join(top, "srv")
	must(os.Mkdir(parent, 0o755), os.Chown(parent, 0, group), os.Chmod(filepath.Dir(top), 0o755))
	worker := account.Account{Name: "worker", UID: user, GID: group, Groups: []int{group}}
	for _, row := range []struct {
		folder string
		mode   fs.FileMode
		refuse bool
	}{{parent, 0o755, false}, {parent, 0o775, true}, {top, 0o775, true}} {
		must(os.Chown(top, 0, group), os.Chmod(top, 0o755), os.Chmod(parent, 0o755), os.Chmod(row.folder, row.mode))
		err := worker.Do(func() error { return checkAbove(filepath.Join(parent, "refdata")) })
		if (err != nil) != row.refuse || row.refuse && !strings.Contains(err.Error(), "members of group 23457 can write in "+row.folder) {
			t.Errorf("%s with mode %v: %v", row.folder, row.mode, err)
		}
	}
}

func join(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestFolderOfAnotherMirrorIsRefused(t *testing.T) {
	b := newBench(t)
	b.exports(Options{})
	b.target.DataDir = filepath.Join(b.top, "elsewhere")
	b.must(os.MkdirAll(filepath.Join(b.target.DataDir, "state"), 0o700))
	b.release("2")
	b.refuses(Options{}, "follows the data_dir "+filepath.Join(b.top, "data"))
	if _, err := Look(b.target); !IsRefused(err) { // status must not call it in sync
		b.Errorf("a look found %v", err)
	}
	b.exports(Options{TakeOver: true})
}

// nothing is known.
func nothing(string, fsops.Info) (bool, error) { return false, nil }

func TestVerifyFindsDamageAndMendingReplacesTheTree(t *testing.T) {
	b := newBench(t)
	b.exports(Options{})
	path := filepath.Join(b.target.Path, "us.dat")
	info, err := os.Stat(path)
	b.must(err, replace(path, "us x"), os.Chtimes(path, info.ModTime(), info.ModTime()))
	checked, err := Verify(t.Context(), b.target, 0, nothing)
	if err != nil || checked.Files != 4 || len(checked.Damage) != 1 || checked.Damage[0].Path != "us.dat" {
		t.Fatalf("%+v, %v", checked, err)
	}
	b.exports(Options{Mend: true})
	b.target.KeepFor = 0
	if _, err := b.follow(Options{}); err != nil || b.kept() != 0 {
		t.Errorf("%v, %d trees are kept", err, b.kept())
	}

	b.must(os.WriteFile(filepath.Join(b.target.Path, "new"), nil, 0o644))
	if checked, err = Verify(t.Context(), b.target, 0, nothing); err != nil || len(checked.Damage) != 1 || checked.Damage[0].Path != "new" {
		t.Errorf("%+v, %v", checked, err)
	}
	b.refuses(Options{Mend: true}, `"new" is new`)
}

func TestCopiesAreProvenAndSpaceIsPlannedOnAnotherFileSystem(t *testing.T) {
	b := newBench(t)
	b.mount("size=400k")
	b.exports(Options{})
	checked, err := Verify(t.Context(), b.target, 0, nothing)
	if err != nil || len(checked.Damage) != 0 {
		t.Fatalf("%+v, %v", checked, err)
	}
	big := strings.Repeat("x", 1<<20)
	b.release("2")
	b.add("big.dat", big)
	before := listing(t, filepath.Dir(b.target.Path))
	if _, err := b.follow(Options{}); err == nil || !strings.Contains(err.Error(), "make room on the disk of the export") {
		t.Errorf("%v", err)
	}
	if after := listing(t, filepath.Dir(b.target.Path)); len(after) != len(before) {
		t.Errorf("changed: %q", after)
	}
	b.release("3")
	b.must(replace(filepath.Join(b.top, "source3", "us.dat"), "us x"))
	if _, err := b.follow(Options{}); err == nil || !strings.Contains(err.Error(), "us.dat is damaged") {
		t.Errorf("%v", err)
	}
}

func TestReadOnlyDiskIsNamedWithANextStep(t *testing.T) {
	b := newBench(t)
	dir := b.mount("size=400k")
	b.exports(Options{})
	b.must(unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	b.release("2")
	if _, err := b.follow(Options{}); err == nil || !strings.Contains(err.Error(), "read-only") || !strings.Contains(err.Error(), "mount it for writing") {
		t.Errorf("%v", err)
	}
}

func TestMountPointIsRefused(t *testing.T) {
	b := newBench(t)
	dir := b.mount("size=400k")
	b.target.Path = dir
	b.refuses(Options{}, "is a mount point")
}

// mount mounts a tmpfs over the parent of the folder.
func (b *bench) mount(options string) string {
	b.Helper()
	if os.Geteuid() != 0 {
		b.Skip("NOT TESTED: mounts need root")
	}
	dir := filepath.Dir(b.target.Path)
	b.must(os.MkdirAll(dir, 0o755), unix.Mount("tmpfs", dir, "tmpfs", 0, options+",mode=755"))
	b.Cleanup(func() { b.must(unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

func TestAnExportIsNotRebuiltBelowTheMountPointOfItsDisk(t *testing.T) {
	b := newBench(t)
	dir := b.mount("size=400k")
	b.exports(Options{})
	b.must(unix.Unmount(dir, 0))
	b.release("2")
	for range 2 {
		b.refuses(Options{}, "nothing is mounted at "+dir, "mount it", "--take-over refdata")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("made below the mount point: %v, %v", left, err)
	}
	if _, err := Look(b.target); !IsRefused(err) {
		t.Errorf("Look: %v", err)
	}
	if _, err := Verify(t.Context(), b.target, 0, nothing); !IsRefused(err) {
		t.Errorf("Verify: %v", err)
	}
	b.must(os.Remove(dir)) // the folder of the mount point may be gone, too
	b.refusesAt(dir)
	b.must(os.Mkdir(dir, 0o755))
	b.exports(Options{TakeOver: true})
	b.release("3")
	b.exports(Options{}) // it is remembered
	b.must(unix.Mount("tmpfs", dir, "tmpfs", 0, "size=400k,mode=755"))
	b.exports(Options{}) // a disk at the folder is no loss
	b.must(unix.Unmount(dir, 0))
	b.refuses(Options{}, "nothing is mounted at "+dir)
	b.must(unix.Mount("tmpfs", dir, "tmpfs", 0, "size=400k,mode=755")) // for the cleanup
}

// refusesAt requires a refusal although a directory is missing, and that it stays so.
func (b *bench) refusesAt(missing string) {
	b.Helper()
	if _, err := b.follow(Options{}); !IsRefused(err) {
		b.Errorf("not refused: %v", err)
	}
	if _, err := os.Stat(missing); !os.IsNotExist(err) {
		b.Errorf("%s was made: %v", missing, err)
	}
}

// A take-over would move the folder away from the readers of the other mirror.
func TestAFolderWithAMirrorIsNeverTakenOver(t *testing.T) {
	for name, place := range map[string]string{
		"a data_dir": ".syncd-data-dir", "holds a data_dir": "team/mirror/.syncd-data-dir",
		"a data_dir without its mark": "state/syncd.db", "holds an export": "team/.geo.syncd/owner",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			file := filepath.Join(b.target.Path, filepath.FromSlash(place))
			b.must(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o644))
			b.refuses(Options{}, "belongs to a syncd, whose readers would lose it", "export to a folder of its own")
			b.refuses(Options{TakeOver: true}, "belongs to a syncd, whose readers would lose it")
			if _, err := os.Lstat(file); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAFolderOfTheSystemIsNeverTakenOver(t *testing.T) {
	for path, want := range map[string]bool{
		"/etc": true, "/etc/ssl": true, "/usr/share/doc": true, "/var/lib": true, "/var/lib/dpkg/info": true, "/home": true,
		"/srv/refdata": false, "/var/lib/refdata": false, "/usr/local/share/refdata": false, "/opt/app/data": false, "/home/alice/data": false, "/etcetera": false,
	} {
		if isOfSystem(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
	b := newBench(t)
	b.target.Path = "/usr/share"
	p := &place{Target: b.target, name: "share"}
	var err error
	p.parent, err = fsops.OpenDir("/usr")
	b.must(err)
	defer p.parent.Close()
	for _, takeOver := range []bool{false, true} {
		err := p.checkFirst(Options{TakeOver: takeOver})
		if !IsRefused(err) || strings.Contains(err.Error(), "take-over") || !strings.Contains(err.Error(), "belongs to the operating system: export to a folder of its own") {
			t.Errorf("take over %v: %v", takeOver, err)
		}
	}
}

func (b *bench) add(name, content string) {
	b.files[name] = content
	path := filepath.Join(b.source.Dir.Path(), name)
	b.must(os.WriteFile(path, []byte(content), 0o444))
	files := append([]record.TreeFile{fileOf(name, content)}, b.source.Files()...)
	b.source.Files = func() []record.TreeFile { return files }
}

func TestGroupAndPermissionsFollowTheSource(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: needs root")
	}
	b := newBench(t)
	b.mount("size=400k")
	source := b.source.Dir.Path()
	for _, name := range []string{".", "lib", "us.dat"} {
		b.must(os.Chown(filepath.Join(source, name), -1, 4321))
	}
	b.must(os.Chmod(source, 0o750), os.Chmod(filepath.Join(source, "us.dat"), 0o440))
	b.exports(Options{})
	for name, want := range map[string]os.FileMode{".": 0o750, "lib": 0o755, "us.dat": 0o440} {
		info, err := os.Stat(filepath.Join(b.target.Path, name))
		b.must(err)
		if st := info.Sys().(*syscall.Stat_t); info.Mode().Perm() != want || st.Gid != 4321 {
			t.Errorf("%s: %v of group %d", name, info.Mode(), st.Gid)
		}
	}
}
