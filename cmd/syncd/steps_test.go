package main

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
	same(update.host, "data directory", update.want, recovery.want)
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
	*host
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
	s.settings.more = strings.Replace(s.settings.more, "name: v,", "name: v, manifests: [m],", 1)
	gate := notesWhatItPasses("$SYNCD_PATH/../../../../passed") // beside the data directory of each copy
	s.settings.more += "\nactivate: manual\ngate: {command: [/bin/sh, -c, '" + gate + "']}\ngroups: [{name: both, manifests: [m, n]}]"
	s.configure()
	s.stays, s.gated, s.sums = true, true, map[string]bool{}
	s.see(s.host)
	s.look()
	return s
}

// staged returns a copy on which the next release is staged, before its activation.
func (s *stepped) staged() *stepped {
	s.Helper()
	h := s.copy(s.T)
	h.sync(0)
	next := &stepped{host: h, sums: map[string]bool{}, args: []string{"activate", "--json"}, gated: true}
	next.see(h)
	next.look()
	return next
}

// newStepped returns a host with one release, before the sync of the next.
func newStepped(t *testing.T) *stepped {
	t.Helper()
	s := &stepped{host: newHost(t, "m", "n"), sums: map[string]bool{}}
	s.needsTorture()
	s.settings.more = "retain: 0\nretain_for: 0s\ntransfers: {files: 1}\nviews: [{name: v, layout: flat, hash_files: true}]" // so that pruning is among the steps
	s.configure()
	// Files of unknown size come one by one, so that the order of the steps is fixed.
	s.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Metadata/*"})
	file := func(name, text string) emulator.File { return emulator.File{Name: name, Content: emulator.Text(text)} }
	library := emulator.File{Class: emulator.ClassLibrary, OS: "LINUX", Compiler: "GCC48", Architecture: "64BIT", Name: "lib.so", Content: emulator.Text("library")}
	s.provider.SetManifest("m", "2026.10", file("a", "1"), file("b", "2"), emulator.File{Name: "large", Content: emulator.Random(1, 1<<20+1)})
	s.provider.SetManifest("n", "2026.10", file("c", "3"), library)
	s.sync(0)
	s.see(s.host)
	s.provider.SetManifest("m", "2026.11", file("a", "1"), file("b", "new"), emulator.File{Name: "large", Content: emulator.Random(2, 1<<20+1)})
	s.provider.SetManifest("n", "2026.11", file("c", "also new"), library)
	s.look()
	return s
}

// prune syncs after a command that is no sync, and does not prune.
func (s *stepped) prune(h *host) {
	if s.args == nil {
		return
	}
	h.environ = nil
	h.sync(0)
}

// killedAfter returns a copy whose sync was killed after the given step.
func (s *stepped) killedAfter(step string) *stepped {
	s.Helper()
	number := slices.Index(s.steps, step) + 1
	if number == 0 {
		s.Fatalf("no step %q in %q", step, s.steps)
	}
	h, out := s.syncWithFault(s.T, number, "kill-after")
	same(h, "exit code", -1, out.code)
	killed := &stepped{host: h, sums: s.sums}
	killed.look()
	return killed
}

// syncWithFault runs a sync with a fault at one of its steps, on a copy. Manifests
// download side by side, so it tries again until the fault meets the expected step.
func (s *stepped) syncWithFault(t *testing.T, number int, fault string) (*host, result) {
	t.Helper()
	for range 100 {
		h := s.copy(t)
		h.environ = []string{"SYNCD_STEPS=" + h.path("steps"), fmt.Sprintf("SYNCD_STEP=%d:%s", number, fault)}
		out := h.syncd(s.command()...)
		h.environ = nil
		if got := h.steps(); len(got) >= number && got[number-1] == s.steps[number-1] {
			return h, out
		}
	}
	t.Fatalf("step %d is never %q", number, s.steps[number-1])
	return nil, result{}
}

// look runs the sync without a fault on a copy.
func (s *stepped) look() {
	s.Helper()
	h := s.copy(s.T)
	h.environ = []string{"SYNCD_STEPS=" + h.path("steps")}
	h.expect(0, s.command()...)
	s.see(h)
	s.steps = h.steps()
	s.prune(h)
	s.want = h.everything()
}

// sufferAll runs a sync for each step and fault, or for a part of them.
func (s *stepped) sufferAll(t *testing.T) {
	rows := len(s.steps) * len(stepFaults)
	every := times(59, 1) // 59 and the number of faults have no common divisor, nor has 127
	if s.gated {          // it has many steps that an update has, too
		every = times(127, 1)
	}
	var done atomic.Int64
	t.Cleanup(func() {
		did := fmt.Sprintf("a sync of %d steps on disk killed before or after one of them, or failing there with EIO or ENOSPC, done or not", len(s.steps))
		reliability(t, "steps of the "+filepath.Base(t.Name()), did, int(done.Load()))
	})
	for row := newRandom(t).IntN(every); row < rows; row += every {
		number, fault := row/len(stepFaults)+1, stepFaults[row%len(stepFaults)]
		t.Run(fmt.Sprintf("%03d %s: %s", number, s.steps[number-1], fault.name), func(t *testing.T) {
			t.Parallel()
			done.Add(1)
			s.suffer(t, number, fault.what)
		})
	}
}

// copy returns another host in the same state, with the same provider.
func (s *stepped) copy(t *testing.T) *host {
	t.Helper()
	h := *s.host
	h.T, h.dir = t, newDir(t)
	h.data = h.path("data")
	if out, err := exec.Command("cp", "-a", s.data, h.data).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v\n%s", err, out)
	}
	h.write("id", customerID+"\n", 0o600)
	if passed, err := os.ReadFile(s.path("passed")); err == nil {
		h.write("passed", string(passed), 0o600)
	}
	h.configure()
	return &h
}

// see allows readers to see the present state.
func (s *stepped) see(h *host) {
	for _, sums := range servedSums(h) {
		s.sums[sums] = true
	}
}

// servedSums are the lists of digests of the manifests m and n.
func servedSums(h *host) (sums []string) {
	h.Helper()
	for _, name := range []string{"m", "n"} {
		text, err := os.ReadFile(filepath.Join(h.data, "current", name+".SHA256SUMS"))
		h.must(err)
		sums = append(sums, string(text))
	}
	return sums
}

// suffer runs a sync with a fault at one of its steps.
func (s *stepped) suffer(t *testing.T, number int, fault string) {
	h, out := s.syncWithFault(t, number, fault)
	killed := strings.HasPrefix(fault, "kill")
	if out.code == 2 || killed != (out.code == -1) {
		t.Errorf("exit %d\n%s", out.code, out.stderr)
	}
	h.proven()
	for _, sums := range servedSums(h) {
		if !s.sums[sums] {
			t.Errorf("current shows what it must not:\n%s", sums)
		}
	}
	if s.gated {
		h.wantPassed(h.path("passed"))
	}
	if out.code == 0 && !s.stays { // the failed step did not matter to readers
		var r syncOutput
		h.must(json.Unmarshal([]byte(out.stdout), &r))
		same(h, "current", fmt.Sprintf("generations/%06d", r.Generation), h.current())
		same(h, "releases", []string{"2026.11", "2026.11"}, []string{r.Manifests[0].Release, r.Manifests[1].Release})
	}
	s.prune(h)
	h.expect(0, s.command()...)
	s.prune(h)
	if diff := cmp.Diff(s.want, h.everything()); diff != "" {
		t.Errorf("data directory after the next sync (-undisturbed +this one):\n%s", diff)
	}
	if t.Failed() {
		t.Logf("the sync ended with %d:\n%s%s", out.code, out.stdout, out.stderr)
	}
}

// randomPart is what makes temporary names unique.
var randomPart = regexp.MustCompile(`(\.tmp-.+)-[A-Z2-7]{10}`)

// steps are the changes of a sync on disk as SYNCD_STEPS lists them, without numbers.
func (h *host) steps() (steps []string) {
	h.Helper()
	text, err := os.ReadFile(h.path("steps"))
	h.must(err)
	for line := range strings.Lines(string(text)) {
		_, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		what = strings.Replace(what, h.data, ".", 1)
		steps = append(steps, randomPart.ReplaceAllString(what, "$1"))
	}
	return steps
}

// everything describes the data directory without the parts that may differ: times,
// the number of the generation, the contents of the state file.
func (h *host) everything() map[string]string {
	h.Helper()
	current := filepath.Base(h.current())
	all := map[string]string{}
	h.must(filepath.WalkDir(h.data, func(path string, entry fs.DirEntry, err error) error {
		h.must(err)
		info, err := entry.Info()
		h.must(err)
		rel, err := filepath.Rel(h.data, path)
		h.must(err)
		if rel == "state/audit" {
			h.describeAudit(path, all)
			return fs.SkipDir
		}
		name := strings.Replace(rel, "generations/"+current, "generations/CURRENT", 1)
		all[name] = info.Mode().String()
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			h.must(err)
			all[name] += " " + strings.Replace(target, current, "CURRENT", 1)
		case info.Mode().IsRegular() && filepath.Dir(rel) != "state":
			all[name] += " " + h.described(path)
		}
		return nil
	}))
	return all
}

// describeAudit describes the newest record of each manifest and view. A fault can bring
// another generation before, whose records are right.
func (h *host) describeAudit(dir string, all map[string]string) {
	h.Helper()
	events, err := os.ReadFile(filepath.Join(dir, "events"))
	h.must(err)
	for line := range strings.Lines(string(events)) {
		var e struct{ Name, Tree string }
		h.must(json.Unmarshal([]byte(line), &e))
		all["audit of "+e.Name] = e.Tree + " " + h.described(filepath.Join(dir, "trees", e.Name, e.Tree))
	}
}

// timeMembers are the times in a record.
var timeMembers = regexp.MustCompile(`"(mirrored_at|published_at|since|at)": ?"[^"]*"`)

func (h *host) described(path string) string {
	h.Helper()
	data, err := os.ReadFile(path)
	h.must(err)
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
	h := newHost(t)
	h.needsTorture()
	h.environ = []string{"SYNCD_STEP_EINVAL=1", "SYNCD_STEPS=" + h.path("steps")}
	for _, args := range [][]string{{"sync"}, {"sync"}, {"rollback"}, {"sync", "--force"}, {"verify"}, {"verify", "--repair"}} {
		name := strings.Join(args, " ")
		switch name {
		case "sync":
			h.provider.AdvanceSample()
		case "verify --repair":
			h.flip("dq_addr_data/ews.txt")
		}
		stderr := h.expect(0, args...).stderr
		if n := strings.Count(stderr, warning); n > 1 || n == 0 && name != "verify" {
			t.Errorf("%s warns %d times:\n%s", name, n, stderr)
		}
		h.proven()
	}
	p := h.daemon()
	p.logged("sync")
	release := h.provider.AdvanceSample()
	h.sync(0)
	p.terminate()
	if n := strings.Count(p.stderr.String(), warning); n != 1 {
		t.Errorf("the daemon warns %d times:\n%s", n, p.stderr)
	}
	h.proven()
	same(h, "release", release, h.status().Manifests[0].Release)
	refused := 0
	for _, step := range h.steps() {
		if strings.HasPrefix(step, "fsync-dir ") {
			refused++
		}
	}
	reliability(t, "folders that cannot be synced", "EINVAL answered to the fsync of a folder", refused)
}
