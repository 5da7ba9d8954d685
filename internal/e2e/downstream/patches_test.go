package downstream_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// streets is a text file of a release; the last line differs between months.
func streets(month int) []byte {
	var b bytes.Buffer
	for i := range 8000 {
		fmt.Fprintf(&b, "%d;street %d;%x\n", i, i*i%977, sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
	}
	fmt.Fprintf(&b, "month %d\n", month)
	return b.Bytes()
}

// patches returns the names on disk.
func patches(h *e2e.Host) (names []string) {
	entries, _ := os.ReadDir(filepath.Join(h.Data, "patches"))
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}
	return names
}

// wantPatches waits until so many patches are there.
func wantPatches(h *e2e.Host, want int) []string {
	h.Helper()
	h.Eventually(fmt.Sprintf("%d patches", want), func() bool { return len(patches(h)) == want })
	return patches(h)
}

// A release that went live has a patch from the one before and a compressed whole. They go
// with what they were made of, and with the setting.
func TestTheDaemonMakesPatches(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, []string{"m"})
	u.Settings.More += "\npublish: {patches: {}}"
	u.Configure()
	u.addID("db01")
	publish := func(month int) {
		u.Provider.SetManifest("m", fmt.Sprintf("2026.%02d", month), emulator.File{Name: "m.dat", Content: emulator.Bytes(streets(month))}, emulator.File{Name: "noise.dat", Content: emulator.Random(1, 200_000)})
	}
	publish(9)
	p := u.SyncedDaemon()
	first := wantPatches(u.Host, 1)
	publish(10)
	p.Signal(syscall.SIGUSR1)
	names := wantPatches(u.Host, 3)
	if !slices.Contains(names, first[0]) {
		t.Errorf("%v is gone from %v", first, names)
	}
	_, metrics := p.Get("/metrics")
	for _, text := range []string{u.Expect(0, "status").Stdout, metrics} {
		if !strings.Contains(text, "patches: 3 for other hosts, ") && !strings.Contains(text, "\nsyncd_patches_made_total 3\n") {
			t.Error(text)
		}
	}
	u.Expect(0, "destroy", "--yes", "m", "2026.09")
	left := wantPatches(u.Host, 1)
	if proof := u.Expect(0, "destroyed", "--json").Stdout; left[0] == first[0] || !strings.Contains(proof, `"patches": 2`) {
		t.Errorf("left %v of %v: %s", left, names, proof)
	}
	p.Terminate()
	u.Settings.More = strings.Replace(u.Settings.More, "publish: {patches: {}}", "", 1)
	u.Configure()
	p = u.SyncedDaemon()
	wantPatches(u.Host, 0)
	p.Terminate()
}

// Patches go when a sync needs the room, and a dry run knows it.
func TestPatchesMakeRoom(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	e2e.OnSmallDisk(h, "size=16m")
	publish := func(release string, size int64) {
		h.Provider.SetManifest("m", release, emulator.File{Name: "m.dat", Content: emulator.Random(uint64(size), size)})
	}
	publish("2026.09", 2<<20)
	h.Sync(0)
	name := filepath.Join("patches", strings.Repeat("a", 64)+"-"+strings.Repeat("b", 64))
	h.Must(os.Mkdir(filepath.Join(h.Data, "patches"), 0o700))
	h.Must(os.WriteFile(filepath.Join(h.Data, name), make([]byte, 8<<20), 0o600))
	publish("2026.10", 8<<20)
	h.Expect(0, "sync", "--dry-run")
	e2e.Same(h, "patches after a dry run", 1, len(patches(h)))
	h.Sync(0)
	e2e.Same(h, "patches", 0, len(patches(h)))
}

// A daemon that is killed while it makes a patch takes the maker with it, and the next start
// leaves nothing half.
func TestAKilledDaemonLeavesNoHalfPatch(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	h.Settings.More = "publish: {patches: {}}"
	h.Configure()
	h.Provider.SetManifest("m", "2026.10", emulator.File{Name: "m.dat", Content: emulator.Bytes(bytes.Repeat(streets(10), 50))})
	p := h.SyncedDaemon()
	maker := ""
	h.Eventually("a maker at work", func() bool {
		half, _ := filepath.Glob(filepath.Join(h.Data, "patches", ".tmp-*"))
		maker = makerOf(p)
		return maker != "" && len(half) > 0
	})
	h.Must(p.Cmd.Process.Kill())
	p.Wait()
	h.Eventually("the end of the maker", func() bool {
		_, err := os.Stat("/proc/" + maker)
		return err != nil
	})
	p = h.SyncedDaemon()
	wantPatches(h, 1)
	p.Terminate()
	e2e.Same(h, "names", 1, len(e2e.NamesIn(h, filepath.Join(h.Data, "patches"))))
}

// makerOf returns the id of the process by which a daemon makes patches, "" for none.
func makerOf(p *e2e.Process) string {
	children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.Cmd.Process.Pid)) // of one thread each
	for _, file := range children {
		text, _ := os.ReadFile(file)
		for child := range strings.FieldsSeq(string(text)) {
			if name, _ := os.ReadFile("/proc/" + child + "/cmdline"); strings.HasPrefix(string(name), "syncd-patches") {
				return child
			}
		}
	}
	return ""
}
