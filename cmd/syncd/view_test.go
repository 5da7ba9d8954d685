package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"syncd/internal/emulator"
)

// newViewed is a host with two manifests at the provider, configured with more.
func newViewed(t *testing.T, more string) *host {
	t.Helper()
	h := newHost(t, "data", "bins")
	h.settings.more = more
	h.configure()
	h.provider.SetManifest("data", "2026.10", emulator.File{Name: "us.dat", Content: emulator.Text("us")})
	h.provider.SetManifest("bins", "2026.10",
		emulator.File{Class: emulator.ClassLibrary, OS: "LINUX", Compiler: "GCC48", Architecture: "64BIT", Name: "libmd.so", Content: emulator.Text("so")},
		emulator.File{Class: emulator.ClassInterface, OS: "ANY", Language: "JAVA", Architecture: "ANY", Name: "md.jar", Content: emulator.Text("jar")})
	return h
}

// paths lists the files below current/ref, sorted.
func (h *host) paths() (paths []string) {
	h.Helper()
	root, err := filepath.EvalSymlinks(filepath.Join(h.data, "current", "ref"))
	h.must(err)
	h.must(filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			relative, _ := filepath.Rel(root, path)
			paths = append(paths, relative)
		}
		return err
	}))
	slices.Sort(paths)
	return paths
}

// checkSums runs the real sha256sum.
func (h *host) checkSums(name string) {
	h.Helper()
	check := exec.Command("sha256sum", "--strict", "--quiet", "-c", name+".SHA256SUMS")
	check.Dir = filepath.Join(h.data, "current")
	if out, err := check.CombinedOutput(); err != nil {
		h.Errorf("sha256sum: %v\n%s", err, out)
	}
}

func TestEachLayoutIsServedAndChangedWithoutADownload(t *testing.T) {
	t.Parallel()
	h := newViewed(t, "views: [{name: ref, layout: flat}]")
	h.write("bins.map", "\uFEFFlibmd.so|BINARY|linux|gcc48|64bit|lib/libmd.so\r\ngone|DATA|ANY|ANY|ANY|gone", 0o644)
	h.sync(0)
	for i, step := range []struct {
		view string
		want []string
	}{
		{"{name: ref, layout: native}", []string{"interfaces/any/java/any/md.jar", "linux/gcc48/64bit/libmd.so", "us.dat"}},
		{"{name: ref}", []string{"bins/interfaces/java/md.jar", "bins/linux/gcc48/64bit/libmd.so", "data/data/us.dat"}},
		{"{name: ref, layout: map, map_files: {bins: bins.map}}", []string{"bins/interfaces/java/md.jar", "data/data/us.dat", "lib/libmd.so"}},
		{"{name: ref, layout: flat, hash_files: true, manifests: [bins]}", []string{"libmd.so", "libmd.so.hash", "md.jar", "md.jar.hash"}},
	} {
		h.settings.more = "views: [" + step.view + "]"
		h.configure()
		out := h.sync(0)
		same(h, step.view, step.want, h.paths())
		if out.Generation != i+2 || out.Manifests[0].FilesDownloaded+out.Manifests[1].FilesDownloaded > 0 {
			t.Errorf("%s: %+v", step.view, out)
		}
		h.checkSums("ref")
		if again := h.sync(0); again.Changed {
			t.Errorf("%s: a sync without a change publishes", step.view)
		}
	}
	text, err := os.ReadFile(filepath.Join(h.data, "current", "ref", "libmd.so.hash"))
	if err != nil || len(text) != 64 || strings.ToLower(string(text)) != string(text) {
		t.Errorf("hash file %q, %v", text, err)
	}
	h.expect(0, "verify")
	h.must(os.Remove(filepath.Join(h.data, "current", "ref", "md.jar.hash")))
	if out := h.expect(1, "verify"); !strings.Contains(out.stdout, "ref/md.jar.hash") {
		t.Errorf("verify: %s", out.stdout)
	}
	h.expect(0, "verify", "--repair")
	h.checkSums("ref")
	var status struct {
		Views []struct{ Name, State, Fingerprint string }
	}
	h.must(json.Unmarshal([]byte(h.expect(0, "status", "--json").stdout), &status))
	if len(status.Views) != 1 || status.Views[0].State != "in_sync" || status.Views[0].Fingerprint == "" {
		t.Errorf("status %+v", status)
	}
	h.settings.more = "views: [{name: ref, layout: native}]"
	h.configure()
	if out := h.expect(0, "explain").stdout; !strings.Contains(out, "view ref: its configuration changed") {
		t.Errorf("explain: %s", out)
	}
}

func TestAChangedMapFileMakesANewViewAtTheNextSync(t *testing.T) {
	t.Parallel()
	h := newViewed(t, "views: [{name: ref, layout: map, manifests: [data], map_files: {data: data.map}}]")
	h.write("data.map", "us.dat|DATA|ANY|ANY|ANY|one/us.dat\n", 0o644)
	p := h.daemon()
	p.logged("sync")
	same(h, "first", []string{"one/us.dat"}, h.paths())
	h.write("data.map", "us.dat|DATA|ANY|ANY|ANY|two/us.dat\n", 0o644)
	h.sync(0)
	same(h, "second", []string{"two/us.dat"}, h.paths())
	h.write("data.map", "us.dat|DATA|ANY|ANY|ANY|../us.dat\n", 0o644)
	h.expect(1, "sync")
	same(h, "after a hostile map", []string{"two/us.dat"}, h.paths())
	p.terminate()
}

func TestClashingFilesAreNamedAndNothingIsDownloaded(t *testing.T) {
	t.Parallel()
	h := newViewed(t, "views: [{name: ref, layout: flat}]")
	h.provider.SetManifest("data", "2026.10", emulator.File{Name: "LIBMD.so", Content: emulator.Text("us")})
	out := h.sync(1)
	for _, m := range out.Manifests {
		if m.Reason != "path_clash" || !strings.Contains(m.Error, "Data/2026.10/LIBMD.so of data") || !strings.Contains(m.Error, "Library/LINUX/GCC48/64BIT/2026.10/libmd.so of bins") {
			t.Errorf("%+v", m)
		}
	}
	for _, r := range h.provider.Requests() {
		if strings.HasPrefix(r.Path, "/Download/") {
			t.Errorf("download of %s", r.Path)
		}
	}
}

func TestMapPrintsTheMapOfTheUpdater(t *testing.T) {
	t.Parallel()
	h := newViewed(t, "")
	want := "md.jar|INTERFACE|ANY|JAVA|ANY|bins/interfaces/java/md.jar\nlibmd.so|BINARY|LINUX|GCC48|64BIT|bins/linux/gcc48/64bit/libmd.so\n"
	same(h, "from the provider", want, h.expect(0, "map", "bins").stdout)
	h.sync(0)
	h.provider.ResetRequests()
	same(h, "of the served revision", want, h.expect(0, "map", "bins").stdout)
	if n := len(h.provider.Requests()); n > 0 {
		t.Errorf("%d requests", n)
	}
}

// The shipped unit has PrivateUsers=yes: its user namespace has no group but the daemon's.
func TestAGroupThatTheUserNamespaceLacksIsExplained(t *testing.T) {
	t.Parallel()
	h := asRoot(t)
	h.settings.more = "permissions: {group: '23456'}"
	h.configure()
	cmd := h.command("sync")
	onlyRoot := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: onlyRoot, GidMappings: onlyRoot}
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatal("the sync succeeded")
	}
	h.contains("output", string(out), "permissions: ", "no group 23456", "PrivateUsers=no")
}

// accesses are the permissions of everything that readers see.
func (h *host) accesses() map[string]bool {
	h.Helper()
	all := map[string]bool{}
	for _, folder := range []string{"objects", "revisions", "views", "generations"} {
		h.must(filepath.WalkDir(filepath.Join(h.data, folder), func(path string, entry fs.DirEntry, err error) error {
			h.must(err)
			info, err := entry.Info()
			h.must(err)
			if entry.Type() != fs.ModeSymlink {
				all[fmt.Sprintf("%s %d", info.Mode(), info.Sys().(*syscall.Stat_t).Gid)] = true
			}
			return nil
		}))
	}
	return all
}

func TestPermissionsHoldForEverythingThatReadersSee(t *testing.T) {
	t.Parallel()
	group := os.Getegid()
	if os.Getuid() == 0 {
		group = 12345
	}
	const view = "views: [{name: ref, hash_files: true}]\n"
	h := newViewed(t, view)
	h.sync(0)
	same(h, "default", map[string]bool{fmt.Sprintf("-r--r--r-- %d", os.Getegid()): true, fmt.Sprintf("drwxr-xr-x %d", os.Getegid()): true}, h.accesses())
	restricted := fmt.Sprintf("permissions: {files: '0440', directories: '0750', group: '%d'}", group)
	want := map[string]bool{fmt.Sprintf("-r--r----- %d", group): true, fmt.Sprintf("drwxr-x--- %d", group): true}
	h.settings.more = view + restricted
	h.configure()
	out := h.sync(0)
	same(h, "changed", want, h.accesses())
	if out.Generation != 2 || out.Manifests[0].FilesDownloaded > 0 {
		t.Errorf("%+v", out)
	}
	h.provider.SetManifest("data", "2026.11", emulator.File{Name: "us.dat", Content: emulator.Text("new")}, emulator.File{Name: "large", Content: emulator.Random(1, 3<<20)})
	h.sync(0)
	same(h, "of a new release", want, h.accesses())
	p := h.daemon()
	p.logged("sync")
	same(h, "after a start", want, h.accesses())
	h.expect(0, "verify")
	h.settings.more = view + fmt.Sprintf("permissions: {group: '%d'}", os.Getegid())
	h.configure()
	p.signal(syscall.SIGHUP)
	for h.status().Generation < 4 { // the test would time out
		time.Sleep(10 * time.Millisecond)
	}
	same(h, "back", map[string]bool{fmt.Sprintf("-r--r--r-- %d", os.Getegid()): true, fmt.Sprintf("drwxr-xr-x %d", os.Getegid()): true}, h.accesses())
	p.terminate()
}
