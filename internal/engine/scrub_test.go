package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"syncd/internal/emulator"
	"syncd/internal/engine/operation"
	"syncd/internal/report/request"
)

// publishThree publishes a release with three files of 256 KiB that no other has.
func (w *world) publishThree(release string, seed uint64) {
	var files []emulator.File
	for i := range uint64(3) {
		files = append(files, emulator.File{Name: fmt.Sprintf("%d.dat", i), Content: emulator.Random(10*seed+i, 256<<10)})
	}
	w.provider.SetManifest("one", release, files...)
}

// contents are the contents of the files below a folder of the data directory, by path.
func (w *world) contents(pattern string) map[string]string {
	w.Helper()
	paths, err := filepath.Glob(filepath.Join(w.cfg.DataDir, pattern))
	must(w.T, err)
	found := map[string]string{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		must(w.T, err)
		found[path] = string(content)
	}
	return found
}

// damageObjects changes a byte of every object in place.
func (w *world) damageObjects() {
	w.Helper()
	for path, content := range w.contents("objects/*/*") {
		must(w.T, os.Chmod(path, 0o644))
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		must(w.T, err)
		_, err = f.WriteAt([]byte{content[1000] ^ 1}, 1000)
		must(w.T, err)
		must(w.T, f.Close())
		must(w.T, os.Chmod(path, 0o444))
	}
}

func TestAScrubHealsDamageWhileReleasesArriveAndARollbackIsDone(t *testing.T) {
	w := start(t, "one")
	w.cfg.Scrub.Rate = 1 << 10 // more than ten minutes for the first release alone
	w.publishThree("2026.09", 1)
	e := w.open()
	defer e.Close()
	demand := func() {
		t.Helper()
		result, err := operation.Sync.Do(context.Background(), e.Operations(), request.Sync{Demand: true})
		if err != nil || !result.OK() || !result.Changed {
			t.Fatalf("sync %+v, %v", result, err)
		}
	}
	demand()
	proven := w.contents("revisions/one/*/*.dat")
	w.damageObjects()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	must(t, e.Scrub.Begin(ctx))
	ended := make(chan error)
	go func() {
		for {
			if isEnded, err := e.Scrub.Slice(ctx); isEnded || err != nil {
				ended <- err
				return
			}
		}
	}()
	for e.Scrub.Progress().Bytes == 0 { // the test would time out
		time.Sleep(time.Millisecond)
	}

	w.publishThree("2026.10", 2)
	demand()
	w.publishThree("2026.11", 3)
	demand()
	if _, err := operation.Rollback.Do(ctx, e.Operations(), request.Rollback{Generation: 1}); err == nil {
		t.Error("a damaged revision went live")
	}
	if _, err := operation.Rollback.Do(ctx, e.Operations(), request.Rollback{Generation: 2}); err != nil {
		t.Fatal(err)
	}
	if p := e.Scrub.Progress(); !p.IsRunning() || p.Objects > 0 {
		t.Errorf("the scrub did not run beside: %+v", p)
	}

	fast := *w.cfg
	fast.Scrub.Rate = 0
	must(t, e.Configure(&fast))
	must(t, <-ended)
	if p := e.Scrub.Progress(); p.IsRunning() || p.Damaged != 3 || p.Repaired != 3 || len(p.Left) > 0 {
		t.Errorf("progress %+v", p)
	}
	healed := w.contents("revisions/one/2026.09-*/*.dat")
	if len(healed) != 3 {
		t.Errorf("%d files of the first release are left", len(healed))
	}
	for path, content := range healed {
		if content != proven[path] {
			t.Errorf("%s is still damaged", path)
		}
	}
	if _, err := operation.Rollback.Do(ctx, e.Operations(), request.Rollback{Generation: 1}); err != nil {
		t.Error(err)
	}
	if result, err := operation.Repair.Do(ctx, e.Operations(), request.Verify{}); err != nil || !result.OK() || len(result.Damage) > 0 || result.Files != 3 {
		t.Errorf("verify %+v, %v", result, err)
	}
	if n := w.logged(`"repaired":true`); n != 3 {
		t.Errorf("%d events of damage in the log:\n%s", n, &w.log)
	}
}

func TestAScrubGoesOnInTheNextProcess(t *testing.T) {
	w := start(t, "one")
	w.publishThree("2026.09", 1)
	w.cfg.Scrub.Rate = 64 << 10
	e := w.open()
	_, err := operation.Sync.Do(context.Background(), e.Operations(), request.Sync{Demand: true})
	must(t, err)
	must(t, e.Scrub.Begin(context.Background()))
	for range 3 {
		_, err := e.Scrub.Slice(context.Background())
		must(t, err)
	}
	before := e.Scrub.Progress()
	must(t, e.Scrub.End())
	must(t, e.Close())
	w.cfg.Scrub.Rate = 0
	e = w.open()
	defer e.Close()
	if _, err := e.Scrub.Slice(context.Background()); err != nil {
		t.Fatal(err)
	}
	after := e.Scrub.Progress()
	if before.Bytes == 0 || before.Objects == 3 || after.IsRunning() || after.Bytes != 3*256<<10 || after.StartedAt != before.StartedAt {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

func TestDamageThatTheProviderCannotReplaceIsTold(t *testing.T) {
	w := start(t, "one")
	e := w.open()
	defer e.Close()
	_, err := operation.Sync.Do(context.Background(), e.Operations(), request.Sync{Demand: true})
	must(t, err)
	path := slices.Collect(func(yield func(string) bool) {
		for path := range w.contents("objects/*/*") {
			yield(path)
		}
	})[0]
	must(t, os.Truncate(path, 1))
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Download/*"})
	must(t, e.Scrub.Begin(context.Background()))
	_, err = e.Scrub.Slice(context.Background())
	must(t, err)
	status, err := e.Status()
	must(t, err)
	if s := status.Scrub; s == nil || len(s.Left) != 1 || s.Left[0].File != "one/one.dat" || !strings.Contains(s.Explanation, "one/one.dat is damaged and not repaired") {
		t.Errorf("status %+v", s)
	}
	w.provider.ClearFaults()
	must(t, e.Scrub.Retry(context.Background()))
	status, err = e.Status()
	must(t, err)
	if s := status.Scrub; len(s.Left) != 0 || s.Repaired != 1 || w.content("one") != "one" {
		t.Errorf("status %+v, content %q", s, w.content("one"))
	}
}
