package files_test

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

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// newViewed is a host with two manifests at the provider, configured with more.
func newViewed(t *testing.T, more string) *e2e.Host {
	t.Helper()
	h := e2e.NewHost(t, "data", "bins")
	h.ConfigureWith(more)
	h.Provider.SetManifest("data", "2026.10", emulator.File{Name: "us.dat", Content: emulator.Text("us")})
	h.Provider.SetManifest("bins", "2026.10",
		emulator.File{Class: emulator.ClassLibrary, OS: "LINUX", Compiler: "GCC48", Architecture: "64BIT", Name: "libmd.so", Content: emulator.Text("so")},
		emulator.File{Class: emulator.ClassInterface, OS: "ANY", Language: "JAVA", Architecture: "ANY", Name: "md.jar", Content: emulator.Text("jar")})
	return h
}

// paths lists the files below current/ref, sorted.
func paths(h *e2e.Host) (paths []string) {
	h.Helper()
	root, err := filepath.EvalSymlinks(filepath.Join(h.Data, "current", "ref"))
	h.Must(err)
	h.Must(filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
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
func checkSums(h *e2e.Host, name string) {
	h.Helper()
	check := exec.Command("sha256sum", "--strict", "--quiet", "-c", name+".SHA256SUMS")
	check.Dir = filepath.Join(h.Data, "current")
	if out, err := check.CombinedOutput(); err != nil {
		h.Errorf("sha256sum: %v\n%s", err, out)
	}
}

func TestEachLayoutIsServedAndChangedWithoutADownload(t *testing.T) {
	t.Parallel()
	h := newViewed(t, "views: [{name: ref, layout: flat}]")
	h.Write("bins.map", "\uFEFFlibmd.so|BINARY|linux|gcc48|64bit|lib/libmd.so\r\ngone|DATA|ANY|ANY|ANY|gone", 0o644)
	h.Sync(0)
	for i, step := range []struct {
		view string
		want []string
	}{
		{"{name: ref, layout: native}", []string{"interfaces/any/java/any/md.jar", "linux/gcc48/64bit/libmd.so", "us.dat"}},
		{"{name: ref}", []string{"bins/interfaces/java/md.jar", "bins/linux/gcc48/64bit/libmd.so", "data/data/us.dat"}},
		{"{name: ref, layout: map, map_files: {bins: bins.map}}", []string{"bins/interfaces/java/md.jar", "data/data/us.dat", "lib/libmd.so"}},
		{"{name: ref, layout: flat, hash_files: true, manifests: [bins]}", []string{"libmd.so", "libmd.so.hash", "md.jar", "md.jar.hash"}},
	} {
		h.ConfigureWith("views: [" + step.view + "]")
		out := h.Sync(0)
		e2e.Same(h, step.view, step.want, paths(h))
		if out.Generation != i+2 || out.Manifests[0].FilesDownloaded+out.Manifests[1].FilesDownloaded > 0 {
			t.Errorf("%s: %+v", step.view, out)
		}
		checkSums(h, "ref")
		if again := h.Sync(0); again.Changed {
			t.Errorf("%s: a sync without a change publishes", step.view)
		}
	}
	text, err := os.ReadFile(filepath.Join(h.Data, "current", "ref", "libmd.so.hash"))
	if err != nil || len(text) != 64 || strings.ToLower(string(text)) != string(text) {
		t.Errorf("hash file %q, %v", text, err)
	}
	h.Expect(0, "verify")
	h.Must(os.Remove(filepath.Join(h.Data, "current", "ref", "md.jar.hash")))
	if out := h.Expect(1, "verify"); !strings.Contains(out.Stdout, "ref/md.jar.hash") {
		t.Errorf("verify: %s", out.Stdout)
	}
	h.Expect(0, "verify", "--repair")
	checkSums(h, "ref")
	var status struct {
		Views []struct{ Name, State, Fingerprint string }
	}
	h.Must(json.Unmarshal([]byte(h.Expect(0, "status", "--json").Stdout), &status))
	if len(status.Views) != 1 || status.Views[0].State != "in_sync" || status.Views[0].Fingerprint == "" {
		t.Errorf("status %+v", status)
	}
	h.ConfigureWith("views: [{name: ref, layout: native}]")
	if out := h.Expect(0, "explain").Stdout; !strings.Contains(out, "view ref: its configuration changed") {
		t.Errorf("explain: %s", out)
	}
}

func TestAChangedMapFileMakesANewViewAtTheNextSync(t *testing.T) {
	t.Parallel()
	h := newViewed(t, "views: [{name: ref, layout: map, manifests: [data], map_files: {data: data.map}}]")
	h.Write("data.map", "us.dat|DATA|ANY|ANY|ANY|one/us.dat\n", 0o644)
	p := h.SyncedDaemon()
	e2e.Same(h, "first", []string{"one/us.dat"}, paths(h))
	h.Write("data.map", "us.dat|DATA|ANY|ANY|ANY|two/us.dat\n", 0o644)
	h.Sync(0)
	e2e.Same(h, "second", []string{"two/us.dat"}, paths(h))
	h.Write("data.map", "us.dat|DATA|ANY|ANY|ANY|../us.dat\n", 0o644)
	h.Expect(1, "sync")
	e2e.Same(h, "after a hostile map", []string{"two/us.dat"}, paths(h))
	p.Terminate()
}

func TestClashingFilesAreNamedAndNothingIsDownloaded(t *testing.T) {
	t.Parallel()
	h := newViewed(t, "views: [{name: ref, layout: flat}]")
	h.Provider.SetManifest("data", "2026.10", emulator.File{Name: "LIBMD.so", Content: emulator.Text("us")})
	out := h.Sync(1)
	for _, m := range out.Manifests {
		if m.Reason != "path_clash" || !strings.Contains(m.Error, "Data/2026.10/LIBMD.so of data") || !strings.Contains(m.Error, "Library/LINUX/GCC48/64BIT/2026.10/libmd.so of bins") {
			t.Errorf("%+v", m)
		}
	}
	for _, r := range h.Provider.Requests() {
		if strings.HasPrefix(r.Path, "/Download/") {
			t.Errorf("download of %s", r.Path)
		}
	}
}

func TestMapPrintsTheMapOfTheUpdater(t *testing.T) {
	t.Parallel()
	h := newViewed(t, "")
	want := "md.jar|INTERFACE|ANY|JAVA|ANY|bins/interfaces/java/md.jar\nlibmd.so|BINARY|LINUX|GCC48|64BIT|bins/linux/gcc48/64bit/libmd.so\n"
	e2e.Same(h, "from the provider", want, h.Expect(0, "map", "bins").Stdout)
	h.Sync(0)
	h.Provider.ResetRequests()
	e2e.Same(h, "of the served revision", want, h.Expect(0, "map", "bins").Stdout)
	if n := len(h.Provider.Requests()); n > 0 {
		t.Errorf("%d requests", n)
	}
}

// The shipped unit has PrivateUsers=yes: its user namespace has no group but the daemon's.
func TestAGroupThatTheUserNamespaceLacksIsExplained(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	h.ConfigureWith("permissions: {group: '23456'}")
	cmd := h.Command("sync")
	onlyRoot := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: onlyRoot, GidMappings: onlyRoot}
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatal("the sync succeeded")
	}
	h.Contains("output", string(out), "permissions: ", "no group 23456", "PrivateUsers=no")
}

// accesses are the permissions of everything that readers see.
func accesses(h *e2e.Host) map[string]bool {
	h.Helper()
	all := map[string]bool{}
	for _, folder := range []string{"objects", "revisions", "views", "generations"} {
		h.Must(filepath.WalkDir(filepath.Join(h.Data, folder), func(path string, entry fs.DirEntry, err error) error {
			h.Must(err)
			info, err := entry.Info()
			h.Must(err)
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
	h.Sync(0)
	e2e.Same(h, "default", map[string]bool{fmt.Sprintf("-r--r--r-- %d", os.Getegid()): true, fmt.Sprintf("drwxr-xr-x %d", os.Getegid()): true}, accesses(h))
	restricted := fmt.Sprintf("permissions: {files: '0440', directories: '0750', group: '%d'}", group)
	want := map[string]bool{fmt.Sprintf("-r--r----- %d", group): true, fmt.Sprintf("drwxr-x--- %d", group): true}
	h.ConfigureWith(view + restricted)
	out := h.Sync(0)
	e2e.Same(h, "changed", want, accesses(h))
	if out.Generation != 2 || out.Manifests[0].FilesDownloaded > 0 {
		t.Errorf("%+v", out)
	}
	h.Provider.SetManifest("data", "2026.11", emulator.File{Name: "us.dat", Content: emulator.Text("new")}, emulator.File{Name: "large", Content: emulator.Random(1, 3<<20)})
	h.Sync(0)
	e2e.Same(h, "of a new release", want, accesses(h))
	p := h.SyncedDaemon()
	e2e.Same(h, "after a start", want, accesses(h))
	h.Expect(0, "verify")
	h.ConfigureWith(view + fmt.Sprintf("permissions: {group: '%d'}", os.Getegid()))
	p.Signal(syscall.SIGHUP)
	for h.Status().Generation < 4 { // the test would time out
		time.Sleep(10 * time.Millisecond)
	}
	e2e.Same(h, "back", map[string]bool{fmt.Sprintf("-r--r--r-- %d", os.Getegid()): true, fmt.Sprintf("drwxr-xr-x %d", os.Getegid()): true}, accesses(h))
	p.Terminate()
}
