package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/emulator"
)

// exportSteps is a change of an exported folder, and its outcome without a fault.
type exportSteps struct {
	provider *emulator.Emulator
	change   func(h *host)
	isCopied bool // to another file system

	steps    []string
	from     int // the first step of the export
	old, new map[string]string
}

// TestFaultAtAnyStepOfAnExportLeavesTheOldOrTheNewFolder kills or fails a sync at each
// change on disk from the beginning of its export on.
func TestFaultAtAnyStepOfAnExportLeavesTheOldOrTheNewFolder(t *testing.T) {
	t.Parallel()
	provider, err := emulator.Start(emulator.Config{CustomerID: customerID})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { provider.Close() })
	file := func(name, text string) emulator.File { return emulator.File{Name: name, Content: emulator.Text(text)} }
	library := emulator.File{Class: emulator.ClassLibrary, OS: "LINUX", Compiler: "GCC48", Architecture: "64BIT", Name: "lib.so", Content: emulator.Text("library")}
	provider.SetManifest("m", "2026.10", file("a", "1"), file("b", "2"), library)
	provider.SetManifest("m", "2026.11", file("a", "1"), file("b", "new"), file("c", "3"), library)
	release := func(h *host) { h.settings.manifests = []string{"m\n    release: 2026.11"} }
	layout := func(h *host) { h.settings.more = exportSettings(h, "layout: provider, hash_files: true") }
	for name, s := range map[string]*exportSteps{
		"release":                        {change: release},
		"release on another file system": {change: release, isCopied: true},
		"layout":                         {change: layout},
		"layout on another file system":  {change: layout, isCopied: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.provider = provider
			s.look(t)
			s.sufferAll(t)
		})
	}
}

func exportSettings(h *host, layout string) string {
	return fmt.Sprintf("retain: 0\nretain_for: 0s\ntransfers: {files: 1}\nviews: [{name: v, %s, export: %s}]", layout, h.path("srv", "v"))
}

// host returns a host that exports release 2026.10, right before the change.
func (s *exportSteps) host(t *testing.T) *host {
	t.Helper()
	h := newHostOf(t, s.provider, "m\n    release: 2026.10")
	h.needsTorture()
	h.must(os.Mkdir(h.path("srv"), 0o755))
	if s.isCopied {
		asRoot(t)
		h.must(syscall.Mount("tmpfs", h.path("srv"), "tmpfs", 0, "size=4m,mode=755"))
		t.Cleanup(func() { h.must(syscall.Unmount(h.path("srv"), syscall.MNT_DETACH)) })
	}
	h.settings.more = exportSettings(h, "layout: flat")
	h.configure()
	h.sync(0)
	s.change(h)
	h.configure()
	return h
}

// look makes the change without a fault.
func (s *exportSteps) look(t *testing.T) {
	h := s.host(t)
	s.old = exportedFiles(h)
	h.environ = []string{"SYNCD_STEPS=" + h.path("steps")}
	h.sync(0)
	s.new, s.steps = exportedFiles(h), exportSteppedBy(h)
	s.from = slices.IndexFunc(s.steps, func(step string) bool { return strings.Contains(step, "srv") })
	if s.from < 0 || maps.Equal(s.old, s.new) {
		t.Fatalf("nothing was exported in %q", s.steps)
	}
}

// exportedFiles are the contents of the exported folder.
func exportedFiles(h *host) map[string]string {
	h.Helper()
	files := map[string]string{}
	h.must(filepath.WalkDir(h.path("srv", "v"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, h.path("srv", "v"))] = string(data)
		return err
	}))
	return files
}

// treeNames are the names in a work folder that differ from run to run.
var treeNames = regexp.MustCompile(`tree-[A-Z2-7]{10}|[/-]\d+\.(json|files)`)

func exportSteppedBy(h *host) (steps []string) {
	for _, step := range h.steps() {
		steps = append(steps, treeNames.ReplaceAllString(strings.ReplaceAll(step, h.dir, "."), "*"))
	}
	return steps
}

func (s *exportSteps) sufferAll(t *testing.T) {
	rows := (len(s.steps) - s.from) * len(stepFaults)
	every := times(257, 1) // 257 and the number of faults have no common divisor
	var done atomic.Int64
	t.Cleanup(func() {
		did := fmt.Sprintf("a sync killed before or after one of the %d steps on disk from its export on, or failing there with EIO or ENOSPC, done or not", len(s.steps)-s.from)
		reliability(t, "steps of an export, "+filepath.Base(t.Name()), did, int(done.Load()))
	})
	for row := newRandom(t).IntN(every); row < rows; row += every {
		number, fault := s.from+row/len(stepFaults)+1, stepFaults[row%len(stepFaults)]
		t.Run(fmt.Sprintf("%03d %s: %s", number, s.steps[number-1], fault.name), func(t *testing.T) {
			t.Parallel()
			done.Add(1)
			s.suffer(t, number, fault.what)
		})
	}
}

// suffer makes the change with a fault at one step, and again without.
func (s *exportSteps) suffer(t *testing.T, number int, fault string) {
	h, out := s.withFault(t, number, fault)
	if killed := strings.HasPrefix(fault, "kill"); out.code == 2 || killed != (out.code == -1) {
		t.Errorf("exit %d\n%s", out.code, out.stderr)
	}
	h.proven()
	shown := exportedFiles(h)
	if !maps.Equal(shown, s.new) && (out.code == 0 || !maps.Equal(shown, s.old)) {
		t.Errorf("after exit %d the folder holds %v\n%s", out.code, shown, out.stderr)
	}
	h.sync(0)
	if diff := cmp.Diff(s.new, exportedFiles(h)); diff != "" {
		t.Errorf("after the next sync (-want +got):\n%s", diff)
	}
	h.expect(0, "verify")
	if names := namesIn(h, h.path("srv", ".v.syncd")); len(names) != 3 {
		t.Errorf("left behind: %q", names)
	}
}

// withFault tries again until the fault meets the expected step: the export and the rest
// of the sync run side by side at its beginning.
func (s *exportSteps) withFault(t *testing.T, number int, fault string) (*host, result) {
	t.Helper()
	for range 20 {
		h := s.host(t)
		h.environ = []string{"SYNCD_STEPS=" + h.path("steps"), fmt.Sprintf("SYNCD_STEP=%d:%s", number, fault)}
		out := h.syncd("sync", "--json")
		h.environ = nil
		if got := exportSteppedBy(h); len(got) >= number && got[number-1] == s.steps[number-1] {
			return h, out
		}
	}
	t.Fatalf("step %d is never %q", number, s.steps[number-1])
	return nil, result{}
}
