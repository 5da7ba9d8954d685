package crash_test

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

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// exportSteps is a change of an exported folder, and its outcome without a fault.
type exportSteps struct {
	provider *emulator.Emulator
	change   func(h *e2e.Host)
	isCopied bool // to another file system

	steps    []string
	from     int // the first step of the export
	old, new map[string]string
}

// TestFaultAtAnyStepOfAnExportLeavesTheOldOrTheNewFolder kills or fails a sync at each
// change on disk from the beginning of its export on.
func TestFaultAtAnyStepOfAnExportLeavesTheOldOrTheNewFolder(t *testing.T) {
	t.Parallel()
	provider, err := emulator.Start(emulator.Config{CustomerID: e2e.CustomerID})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { provider.Close() })
	file := func(name, text string) emulator.File { return emulator.File{Name: name, Content: emulator.Text(text)} }
	library := emulator.File{Class: emulator.ClassLibrary, OS: "LINUX", Compiler: "GCC48", Architecture: "64BIT", Name: "lib.so", Content: emulator.Text("library")}
	provider.SetManifest("m", "2026.10", file("a", "1"), file("b", "2"), library)
	provider.SetManifest("m", "2026.11", file("a", "1"), file("b", "new"), file("c", "3"), library)
	release := func(h *e2e.Host) { h.Settings.Manifests = []string{"m\n    release: 2026.11"} }
	layout := func(h *e2e.Host) { h.Settings.More = exportSettings(h, "layout: provider, hash_files: true") }
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

func exportSettings(h *e2e.Host, layout string) string {
	return fmt.Sprintf("retain: 0\nretain_for: 0s\ntransfers: {files: 1}\nviews: [{name: v, %s, export: %s}]", layout, h.Path("srv", "v"))
}

// host returns a host that exports release 2026.10, right before the change.
func (s *exportSteps) host(t *testing.T) *e2e.Host {
	t.Helper()
	h := e2e.NewHostOf(t, s.provider, "m\n    release: 2026.10")
	h.Must(os.Mkdir(h.Path("srv"), 0o755))
	if s.isCopied {
		e2e.AsRoot(t)
		h.Must(syscall.Mount("tmpfs", h.Path("srv"), "tmpfs", 0, "size=4m,mode=755"))
		t.Cleanup(func() { h.Must(syscall.Unmount(h.Path("srv"), syscall.MNT_DETACH)) })
	}
	h.ConfigureWith(exportSettings(h, "layout: flat"))
	h.Sync(0)
	s.change(h)
	h.Configure()
	return h
}

// look makes the change without a fault.
func (s *exportSteps) look(t *testing.T) {
	h := s.host(t)
	s.old = exportedFiles(h)
	h.Environ = []string{"SYNCD_STEPS=" + h.Path("steps")}
	h.Sync(0)
	s.new, s.steps = exportedFiles(h), exportSteppedBy(h)
	s.from = slices.IndexFunc(s.steps, func(step string) bool { return strings.Contains(step, "srv") })
	if s.from < 0 || maps.Equal(s.old, s.new) {
		t.Fatalf("nothing was exported in %q", s.steps)
	}
}

// exportedFiles are the contents of the exported folder.
func exportedFiles(h *e2e.Host) map[string]string {
	h.Helper()
	files := map[string]string{}
	h.Must(filepath.WalkDir(h.Path("srv", "v"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, h.Path("srv", "v"))] = string(data)
		return err
	}))
	return files
}

// treeNames are the names in a work folder that differ from run to run.
var treeNames = regexp.MustCompile(`tree-[A-Z2-7]{10}|[/-]\d+\.(json|files)`)

func exportSteppedBy(h *e2e.Host) (steps []string) {
	for _, step := range stepsOf(h) {
		steps = append(steps, treeNames.ReplaceAllString(strings.ReplaceAll(step, h.Dir, "."), "*"))
	}
	return steps
}

func (s *exportSteps) sufferAll(t *testing.T) {
	rows := (len(s.steps) - s.from) * len(stepFaults)
	every := e2e.Times(257, 1) // 257 and the number of faults have no common divisor
	var done atomic.Int64
	t.Cleanup(func() {
		did := fmt.Sprintf("a sync killed before or after one of the %d steps on disk from its export on, or failing there with EIO or ENOSPC, done or not", len(s.steps)-s.from)
		e2e.Reliability(t, "steps of an export, "+filepath.Base(t.Name()), did, int(done.Load()))
	})
	for row := e2e.NewRandom(t).IntN(every); row < rows; row += every {
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
	if killed := strings.HasPrefix(fault, "kill"); out.Code == 2 || killed != (out.Code == -1) {
		t.Errorf("exit %d\n%s", out.Code, out.Stderr)
	}
	h.Proven()
	shown := exportedFiles(h)
	if !maps.Equal(shown, s.new) && (out.Code == 0 || !maps.Equal(shown, s.old)) {
		t.Errorf("after exit %d the folder holds %v\n%s", out.Code, shown, out.Stderr)
	}
	h.Sync(0)
	if diff := cmp.Diff(s.new, exportedFiles(h)); diff != "" {
		t.Errorf("after the next sync (-want +got):\n%s", diff)
	}
	h.Expect(0, "verify")
	if names := e2e.NamesIn(h, h.Path("srv", ".v.syncd")); len(names) != 3 {
		t.Errorf("left behind: %q", names)
	}
}

// withFault tries again until the fault meets the expected step: the export and the rest
// of the sync run side by side at its beginning.
func (s *exportSteps) withFault(t *testing.T, number int, fault string) (*e2e.Host, e2e.Result) {
	t.Helper()
	for range 20 {
		h := s.host(t)
		h.Environ = []string{"SYNCD_STEPS=" + h.Path("steps"), fmt.Sprintf("SYNCD_STEP=%d:%s", number, fault)}
		out := h.Syncd("sync", "--json")
		h.Environ = nil
		if got := exportSteppedBy(h); len(got) >= number && got[number-1] == s.steps[number-1] {
			return h, out
		}
	}
	t.Fatalf("step %d is never %q", number, s.steps[number-1])
	return nil, e2e.Result{}
}
