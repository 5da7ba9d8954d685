package crash_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// stepFaults are the faults of a step, as internal/disk/fsops names them.
var stepFaults = []struct{ name, what string }{
	{"killed before, failed and lost", "kill-before"},
	{"killed after, failed but stored", "kill-after"},
	{"EIO, failed and lost", "fail-lost:5"},
	{"EIO, failed but stored", "fail-stored:5"},
	{"ENOSPC, failed and lost", "fail-lost:28"},
}

// TestFaultAtAnyStepLosesNothing kills or fails a sync at each change on disk. current
// must stay complete, and the next sync must end as one without a fault. The recovery
// after a kill is tested in the same way.
func TestFaultAtAnyStepLosesNothing(t *testing.T) {
	t.Parallel()
	update := newStepped(t)
	recovery := update.killedAfter("rename ./generations/000002")
	e2e.Same(update.Host, "data directory", update.want, recovery.want)
	staging := newStaging(t)
	for name, s := range map[string]*stepped{"update": update, "recovery": recovery, "staging": staging, "activation": staging.staged()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.sufferAll(t)
		})
	}
}

// stepped is a host before a sync, and the outcome of that sync without a fault.
type stepped struct {
	*e2e.Host
	steps []string          // of that sync
	sums  map[string]bool   // the lists of digests that readers may see
	want  map[string]string // the data directory after that sync
	args  []string          // the command to test, by default sync --json
	stays bool              // the command changes nothing that readers see
	gated bool              // nothing goes live that the gate has not passed
}

// command is the command whose steps fail.
func (s *stepped) command() []string {
	if s.args == nil {
		return []string{"sync", "--json"}
	}
	return s.args
}

// newStaging returns a host with one release, before a sync that stages the next, which a
// gate looks at.
func newStaging(t *testing.T) *stepped {
	t.Helper()
	s := newStepped(t)
	// A view of both would differ with the order in which the gates look at them.
	s.Settings.More = strings.Replace(s.Settings.More, "name: v,", "name: v, manifests: [m],", 1)
	gate := e2e.NotesWhatItPasses("$SYNCD_PATH/../../../../passed") // beside the data directory of each copy
	s.Settings.More += "\nactivate: manual\ngate: {command: [/bin/sh, -c, '" + gate + "']}\ngroups: [{name: both, manifests: [m, n]}]"
	s.Configure()
	s.stays, s.gated, s.sums = true, true, map[string]bool{}
	s.see(s.Host)
	s.look()
	return s
}

// staged returns a copy on which the next release is staged, before its activation.
func (s *stepped) staged() *stepped {
	s.Helper()
	h := s.copy(s.T)
	h.Sync(0)
	next := &stepped{Host: h, sums: map[string]bool{}, args: []string{"activate", "--json"}, gated: true}
	next.see(h)
	next.look()
	return next
}

// newStepped returns a host with one release, before the sync of the next.
func newStepped(t *testing.T) *stepped {
	t.Helper()
	s := &stepped{Host: e2e.NewHost(t, "m", "n"), sums: map[string]bool{}}
	s.ConfigureWith("retain: 0\nretain_for: 0s\ntransfers: {files: 1}\nviews: [{name: v, layout: flat, hash_files: true}]") // so that pruning is among the steps
	// Files of unknown size come one by one, so that the order of the steps is fixed.
	s.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Metadata/*"})
	file := func(name, text string) emulator.File { return emulator.File{Name: name, Content: emulator.Text(text)} }
	library := emulator.File{Class: emulator.ClassLibrary, OS: "LINUX", Compiler: "GCC48", Architecture: "64BIT", Name: "lib.so", Content: emulator.Text("library")}
	s.Provider.SetManifest("m", "2026.10", file("a", "1"), file("b", "2"), emulator.File{Name: "large", Content: emulator.Random(1, 1<<20+1)})
	s.Provider.SetManifest("n", "2026.10", file("c", "3"), library)
	s.Sync(0)
	s.see(s.Host)
	s.Provider.SetManifest("m", "2026.11", file("a", "1"), file("b", "new"), emulator.File{Name: "large", Content: emulator.Random(2, 1<<20+1)})
	s.Provider.SetManifest("n", "2026.11", file("c", "also new"), library)
	s.look()
	return s
}

// prune syncs after a command that is no sync, and does not prune.
func (s *stepped) prune(h *e2e.Host) {
	if s.args == nil {
		return
	}
	h.Environ = nil
	h.Sync(0)
}

// killedAfter returns a copy whose sync was killed after the given step.
func (s *stepped) killedAfter(step string) *stepped {
	s.Helper()
	number := slices.Index(s.steps, step) + 1
	if number == 0 {
		s.Fatalf("no step %q in %q", step, s.steps)
	}
	h, out := s.syncWithFault(s.T, number, "kill-after")
	e2e.Same(h, "exit code", -1, out.Code)
	killed := &stepped{Host: h, sums: s.sums}
	killed.look()
	return killed
}

// syncWithFault runs a sync with a fault at one of its steps, on a copy. Manifests
// download side by side, so it tries again until the fault meets the expected step.
func (s *stepped) syncWithFault(t *testing.T, number int, fault string) (*e2e.Host, e2e.Result) {
	t.Helper()
	for range 100 {
		h := s.copy(t)
		h.Environ = []string{"SYNCD_STEPS=" + h.Path("steps"), fmt.Sprintf("SYNCD_STEP=%d:%s", number, fault)}
		out := h.Syncd(s.command()...)
		h.Environ = nil
		if got := stepsOf(h); len(got) >= number && got[number-1] == s.steps[number-1] {
			return h, out
		}
	}
	t.Fatalf("step %d is never %q", number, s.steps[number-1])
	return nil, e2e.Result{}
}

// look runs the sync without a fault on a copy.
func (s *stepped) look() {
	s.Helper()
	h := s.copy(s.T)
	h.Environ = []string{"SYNCD_STEPS=" + h.Path("steps")}
	h.Expect(0, s.command()...)
	s.see(h)
	s.steps = stepsOf(h)
	s.prune(h)
	s.want = everything(h)
}

// sufferAll runs a sync for each step and fault, or for a part of them.
func (s *stepped) sufferAll(t *testing.T) {
	rows := len(s.steps) * len(stepFaults)
	every := e2e.Times(97, 1) // 97 and the number of faults have no common divisor, nor has 211
	if s.gated {              // it has many steps that an update has, too
		every = e2e.Times(211, 1)
	}
	var done atomic.Int64
	t.Cleanup(func() {
		did := fmt.Sprintf("a sync of %d steps on disk killed before or after one of them, or failing there with EIO or ENOSPC, done or not", len(s.steps))
		e2e.Reliability(t, "steps of the "+filepath.Base(t.Name()), did, int(done.Load()))
	})
	for row := e2e.NewRandom(t).IntN(every); row < rows; row += every {
		number, fault := row/len(stepFaults)+1, stepFaults[row%len(stepFaults)]
		t.Run(fmt.Sprintf("%03d %s: %s", number, s.steps[number-1], fault.name), func(t *testing.T) {
			t.Parallel()
			done.Add(1)
			s.suffer(t, number, fault.what)
		})
	}
}

// copy returns another host in the same state, with the same provider.
func (s *stepped) copy(t *testing.T) *e2e.Host {
	t.Helper()
	h := *s.Host
	h.T, h.Dir = t, e2e.NewDir(t)
	h.Data = h.Path("data")
	if out, err := exec.Command("cp", "-a", s.Data, h.Data).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v\n%s", err, out)
	}
	h.Write("id", e2e.CustomerID+"\n", 0o600)
	if passed, err := os.ReadFile(s.Path("passed")); err == nil {
		h.Write("passed", string(passed), 0o600)
	}
	h.Configure()
	return &h
}

// see allows readers to see the present state.
func (s *stepped) see(h *e2e.Host) {
	for _, sums := range servedSums(h) {
		s.sums[sums] = true
	}
}

// servedSums are the lists of digests of the manifests m and n.
func servedSums(h *e2e.Host) (sums []string) {
	h.Helper()
	for _, name := range []string{"m", "n"} {
		text, err := os.ReadFile(filepath.Join(h.Data, "current", name+".SHA256SUMS"))
		h.Must(err)
		sums = append(sums, string(text))
	}
	return sums
}

// suffer runs a sync with a fault at one of its steps.
func (s *stepped) suffer(t *testing.T, number int, fault string) {
	h, out := s.syncWithFault(t, number, fault)
	killed := strings.HasPrefix(fault, "kill")
	if out.Code == 2 || killed != (out.Code == -1) {
		t.Errorf("exit %d\n%s", out.Code, out.Stderr)
	}
	h.Proven()
	for _, sums := range servedSums(h) {
		if !s.sums[sums] {
			t.Errorf("current shows what it must not:\n%s", sums)
		}
	}
	if s.gated {
		e2e.WantPassed(h, h.Path("passed"))
	}
	if out.Code == 0 && !s.stays { // the failed step did not matter to readers
		var r e2e.SyncOutput
		h.Must(json.Unmarshal([]byte(out.Stdout), &r))
		e2e.Same(h, "current", fmt.Sprintf("generations/%06d", r.Generation), h.Current())
		e2e.Same(h, "releases", []string{"2026.11", "2026.11"}, []string{r.Manifests[0].Release, r.Manifests[1].Release})
	}
	s.prune(h)
	h.Expect(0, s.command()...)
	s.prune(h)
	if diff := cmp.Diff(s.want, everything(h)); diff != "" {
		t.Errorf("data directory after the next sync (-undisturbed +this one):\n%s", diff)
	}
	if t.Failed() {
		t.Logf("the sync ended with %d:\n%s%s", out.Code, out.Stdout, out.Stderr)
	}
}

// randomPart is what makes temporary names unique.
var randomPart = regexp.MustCompile(`(\.tmp-.+)-[A-Z2-7]{10}`)

// stepsOf are the changes of a sync on disk as SYNCD_STEPS lists them, without numbers.
func stepsOf(h *e2e.Host) (steps []string) {
	h.Helper()
	text := h.Read("steps")
	for line := range strings.Lines(string(text)) {
		_, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		what = strings.Replace(what, h.Data, ".", 1)
		steps = append(steps, randomPart.ReplaceAllString(what, "$1"))
	}
	return steps
}

// everything describes the data directory without the parts that may differ: times,
// the number of the generation, the contents of the state file.
func everything(h *e2e.Host) map[string]string {
	h.Helper()
	current := filepath.Base(h.Current())
	all := map[string]string{}
	h.Must(filepath.WalkDir(h.Data, func(path string, entry fs.DirEntry, err error) error {
		h.Must(err)
		info, err := entry.Info()
		h.Must(err)
		rel, err := filepath.Rel(h.Data, path)
		h.Must(err)
		if rel == "state/audit" {
			describeAudit(h, path, all)
			return fs.SkipDir
		}
		name := strings.Replace(rel, "generations/"+current, "generations/CURRENT", 1)
		all[name] = info.Mode().String()
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			h.Must(err)
			all[name] += " " + strings.Replace(target, current, "CURRENT", 1)
		case info.Mode().IsRegular() && filepath.Dir(rel) != "state":
			all[name] += " " + described(h, path)
		}
		return nil
	}))
	return all
}

// describeAudit describes the newest record of each manifest and view. A fault can bring
// another generation before, whose records are right.
func describeAudit(h *e2e.Host, dir string, all map[string]string) {
	h.Helper()
	events, err := os.ReadFile(filepath.Join(dir, "events"))
	h.Must(err)
	for line := range strings.Lines(string(events)) {
		var e struct{ Name, Tree string }
		h.Must(json.Unmarshal([]byte(line), &e))
		all["audit of "+e.Name] = e.Tree + " " + described(h, filepath.Join(dir, "trees", e.Name, e.Tree))
	}
}

// timeMembers are the times in a record.
var timeMembers = regexp.MustCompile(`"(mirrored_at|published_at|since|at)": ?"[^"]*"`)

func described(h *e2e.Host, path string) string {
	h.Helper()
	data, err := os.ReadFile(path)
	h.Must(err)
	if filepath.Ext(path) == ".json" || filepath.Base(path) == "entry" {
		data = timeMembers.ReplaceAll(data, nil)
	}
	if filepath.Base(path) == "entry" {
		return string(bytes.TrimSpace(data))
	}
	return fmt.Sprintf("%x", sha256.Sum256(bytes.TrimSpace(data)))
}

// TestSyncWorksWithoutDirectoryFsync has every directory fsync
// answered with EINVAL, as some network file systems do.
func TestSyncWorksWithoutDirectoryFsync(t *testing.T) {
	t.Parallel()
	const warning = "cannot sync directories"
	h := e2e.NewHost(t)
	h.Environ = []string{"SYNCD_STEP_EINVAL=1", "SYNCD_STEPS=" + h.Path("steps")}
	for _, args := range [][]string{{"sync"}, {"sync"}, {"rollback"}, {"sync", "--force"}, {"verify"}, {"verify", "--repair"}} {
		name := strings.Join(args, " ")
		switch name {
		case "sync":
			h.Provider.AdvanceSample()
		case "verify --repair":
			h.Flip("dq_addr_data/ews.txt")
		}
		stderr := h.Expect(0, args...).Stderr
		if n := strings.Count(stderr, warning); n > 1 || n == 0 && name != "verify" {
			t.Errorf("%s warns %d times:\n%s", name, n, stderr)
		}
		h.Proven()
	}
	p := h.SyncedDaemon()
	release := h.Provider.AdvanceSample()
	h.Sync(0)
	p.Terminate()
	if n := strings.Count(p.Stderr.String(), warning); n != 1 {
		t.Errorf("the daemon warns %d times:\n%s", n, p.Stderr)
	}
	h.Proven()
	e2e.Same(h, "release", release, h.Status().Manifests[0].Release)
	refused := 0
	for _, step := range stepsOf(h) {
		if strings.HasPrefix(step, "fsync-dir ") {
			refused++
		}
	}
	e2e.Reliability(t, "folders that cannot be synced", "EINVAL answered to the fsync of a folder", refused)
}
