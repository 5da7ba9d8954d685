package syncer_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/emulator"
	"syncd/internal/manifest/refusal"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/report/status"
)

// asked returns the paths that the last sync asked the release service for and
// that begin with prefix, sorted.
func (w *world) asked(prefix string) []string {
	var paths []string
	for _, r := range w.provider.Requests() {
		if r.Host == emulator.HostRelease && strings.HasPrefix(r.Path, prefix) {
			paths = append(paths, r.Path)
		}
	}
	slices.Sort(paths)
	return paths
}

// downloads are the names of the files that the last sync opened, sorted.
func (w *world) downloads() []string {
	var names []string
	for _, p := range w.asked("/Download/") {
		names = append(names, p[strings.LastIndexByte(p, '/')+1:])
	}
	return names
}

// tree reads the published files of a manifest; nil when it is not served.
func (w *world) tree(name string) files {
	w.Helper()
	dir, err := filepath.EvalSymlinks(filepath.Join(w.dir, "current", name))
	if os.IsNotExist(err) {
		return nil
	}
	must(w, err)
	tree := files{}
	must(w, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		tree[filepath.ToSlash(rel)] = string(data)
		return err
	}))
	return tree
}

// serves expects readers to see exactly these files.
func (w *world) serves(name string, want files) {
	w.Helper()
	if diff := cmp.Diff(want, w.tree(name)); diff != "" {
		w.Errorf("%s is not served as it should be (-want +got):\n%s", name, diff)
	}
}

// whole expects every published file to have the recorded content.
func (w *world) whole() {
	w.Helper()
	if len(w.cfg.Mirror.Current().Records) == 0 {
		return
	}
	result, _, err := status.Verify(context.Background(), w.cfg.Mirror, request.Verify{})
	if err != nil || !result.OK() {
		w.Errorf("current is not whole: %v %+v", err, result.Damage)
	}
}

func (w *world) generation() int { return w.cfg.Mirror.Current().Number }

// metric is the value of one series, -1 when there is no such series.
func (w *world) metric(name string, labels ...string) float64 {
	w.Helper()
	families, err := w.registry.Gather()
	must(w, err)
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			var values []string
			for _, pair := range m.GetLabel() {
				values = append(values, pair.GetName()+"="+pair.GetValue())
			}
			if slices.Equal(values, slices.Sorted(slices.Values(labels))) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return -1
}

// only returns the report's one manifest of that name.
func only(t testing.TB, result report.Sync, name string) report.ManifestResult {
	t.Helper()
	for _, m := range result.Manifests {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no manifest %s in %+v", name, result)
	return report.ManifestResult{}
}

// expect checks the result of one manifest in a report.
func (w *world) expect(outcome report.Sync, name string, result report.Result) report.ManifestResult {
	w.Helper()
	m := only(w, outcome, name)
	if m.Result != result {
		w.Fatalf("%s is %s, want %s: %s %s\n%s", name, m.Result, result, m.Reason, m.Error, &w.log)
	}
	return m
}

// equal compares, with a diff for people.
func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// refuses runs a sync on demand that must refuse the manifest "data" for a
// reason, and leave everything that is served as it was.
func (w *world) refuses(reason refusal.Reason) report.ManifestResult {
	w.Helper()
	generation, tree := w.generation(), w.tree("data")
	before := max(w.metric("syncd_refusals_total", "manifest=data", "reason="+string(reason)), 0)
	m := w.expect(w.demand("data"), "data", report.Refused)
	if m.Reason != string(reason) || m.Error == "" {
		w.Errorf("refused for %q (%s), want %q", m.Reason, m.Error, reason)
	}
	if got := w.metric("syncd_refusals_total", "manifest=data", "reason="+string(reason)); got != before+1 {
		w.Errorf("refusals for %s went from %v to %v", reason, before, got)
	}
	if w.generation() != generation {
		w.Errorf("generation %d became %d", generation, w.generation())
	}
	w.serves("data", tree)
	w.whole()
	if state := w.status().Manifests[0]; state.State != report.StateRefused || state.Error == "" {
		w.Errorf("status says %q (%s), want refused", state.State, state.Error)
	}
	return m
}
