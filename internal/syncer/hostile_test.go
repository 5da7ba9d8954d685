package syncer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"syncd/internal/emulator"
	"syncd/internal/golive"
	"syncd/internal/manifest/refusal"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/report/status"
)

// These tests play a hostile provider, or a hostile user on this host.

func TestAFileNamedAfterTheCustomerIDIsRefusedAndNotOnDisk(t *testing.T) {
	const id = "k3y-secret+42"
	xml := func(link string) string { return "<a><s>" + link + "</s></a>" }
	for name, body := range map[string]string{
		"plain":           xml("http://h/Download/Data/2026.10/k3y-secret+42.dat"),
		"with a comment":  xml("http://h/Download/Data/2026.10/k3y-sec<!-- -->ret+42.dat"),
		"with CDATA":      xml("http://h/Download/Data/2026.10/k3y-sec<![CDATA[ret+4]]>2.dat"),
		"with references": xml("http://h/Download/Data/2026.10/k3y-sec&#114;et+42.dat"),
		"with escapes":    `["http://h/Download/Data/2026.10/k3y-sec\u0072et%2B42.dat"]`,
		"in a segment":    xml("http://h/Download/Library/K3Y-SEC<!-- -->RET+42/GCC48/64BIT/2026.10/libx.so"),
		"in mixed case":   xml("http://h/Download/Interface/ANY/JAVA/K3y-sEcret%2b42/2026.10/x.jar"),
	} {
		t.Run(name, func(t *testing.T) {
			w := startAs(t, id, "data")
			w.publish("data", "2026.09", september())
			w.expect(w.demand(), "data", report.Updated)
			w.publish("data", "2026.10", october())
			w.provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/Manifest/*", Body: body})
			m := w.refuses(refusal.BadName)
			status, err := json.Marshal(w.status())
			must(t, err)
			w.hides("error, status and log", m.Error+string(status)+w.log.String())
			must(t, filepath.WalkDir(w.dir, func(path string, entry fs.DirEntry, err error) error {
				w.hides("a file's name", path)
				if err != nil || !entry.Type().IsRegular() {
					return err
				}
				data, err := os.ReadFile(path)
				w.hides(path, string(data))
				return err
			}))
		})
	}
}

// hides expects a text not to hold the Customer ID in any case.
func (w *world) hides(where, text string) {
	w.Helper()
	if strings.Contains(strings.ToLower(text), strings.ToLower(w.id)) {
		w.Errorf("%s: holds the Customer ID", where)
	}
}

func TestAnAliasWithAWrongFileStaysRefused(t *testing.T) {
	for name, ask := range map[string]func(*world) report.Sync{
		"on demand": func(w *world) report.Sync { return w.demand() },
		"by a poll": func(w *world) report.Sync { return w.poll() },
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, "data")
			w.target("data", func(t *golive.Target) { t.Release = "2026.Q4" })
			w.publish("data", "2026.10", files{"a.dat": "a"})
			w.expect(w.demand(), "data", report.Updated)
			w.publish("data", "2026.10", files{"a.dat": "a", "b.dat": "b"})
			w.provider.AddFault(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload, Path: "*/b.dat"})
			equal(t, "reason", w.expect(ask(w), "data", report.Refused).Reason, "hash_mismatch")
			equal(t, "reason while it waits", w.expect(w.poll(), "data", report.Refused).Reason, "hash_mismatch")
			w.pass(time.Hour)
			equal(t, "reason afterwards", w.expect(w.poll(), "data", report.Refused).Reason, "hash_mismatch")
			equal(t, "downloads", w.downloads(), []string{"b.dat", "b.dat"})
			w.serves("data", files{"a.dat": "a"})
			w.provider.ClearFaults()
			w.pass(2 * time.Hour)
			w.expect(w.poll(), "data", report.Updated)
			w.serves("data", files{"a.dat": "a", "b.dat": "b"})
		})
	}
}

// damages are changes by another program to a data directory that serves generation 2.
func damages() map[string]func(w *world) error {
	in := func(w *world, name ...string) string { return filepath.Join(append([]string{w.dir}, name...)...) }
	remove := func(name ...string) func(*world) error {
		return func(w *world) error { return os.RemoveAll(in(w, name...)) }
	}
	return map[string]func(w *world) error{
		"current removed": remove("current"),
		"current to a lower generation": func(w *world) error {
			must(w, os.Remove(in(w, "current")))
			return os.Symlink("generations/000001", in(w, "current"))
		},
		"current to a generation that is none": func(w *world) error {
			must(w, os.Remove(in(w, "current")))
			return os.Symlink("generations/000077", in(w, "current"))
		},
		"link removed":                  remove("generations/000002/data"),
		"sums removed":                  remove("generations/000002/data.SHA256SUMS"),
		"record removed":                remove("generations/000002/data.json"),
		"generation removed":            remove("generations/000002"),
		"revisions removed":             remove("revisions/data"),
		"all generations removed":       remove("generations"),
		"current and revisions removed": func(w *world) error { must(w, remove("current")(w)); return remove("revisions/data")(w) },
	}
}

func TestDamageBesideARunningSyncerIsSeenAndHealedByTheNextSync(t *testing.T) {
	for name, damage := range damages() {
		t.Run(name, func(t *testing.T) {
			w := served(t)
			w.publish("data", "2026.10", october())
			w.expect(w.poll(), "data", report.Updated)
			must(t, w.cfg.Mirror.Generations.Intact())
			must(t, damage(w))
			if err := w.cfg.Mirror.Generations.Intact(); err == nil {
				t.Error("Intact reports no damage")
			}
			if m := only(t, w.poll(), "data"); m.Error != "" {
				t.Fatalf("the sync after the damage is %s: %s", m.Result, m.Error)
			}
			w.serves("data", october())
			w.whole()
			must(t, w.cfg.Mirror.Generations.Intact())
			equal(t, "downloads", len(w.downloads()), 0)
			for _, file := range []string{"data.json", "data.SHA256SUMS"} {
				_, err := os.Stat(filepath.Join(w.dir, "current", file))
				must(t, err)
			}
			generation := w.generation()
			w.restart()
			equal(t, "generation of the next process", w.generation(), generation)
			w.expect(w.demand(), "data", report.Unchanged)
		})
	}
}

func TestDamageOfARepublishedReleaseServesNoOlderRevision(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.09", october())
	w.expect(w.demand(), "data", report.Updated)
	must(t, os.Remove(filepath.Join(w.dir, "generations", "000002", "data")))
	if m := only(t, w.poll(), "data"); m.Error != "" {
		t.Fatalf("the sync after the damage is %s: %s", m.Result, m.Error)
	}
	w.serves("data", october())
}

func TestACurrentThatBecameAFolderFailsTheSyncAndSaysWhatToDo(t *testing.T) {
	w := served(t)
	current := filepath.Join(w.dir, "current")
	must(t, os.Remove(current))
	must(t, os.Mkdir(current, 0o755))
	for range 2 {
		m := only(t, w.demand(), "data")
		if m.Result != report.Failed || !strings.Contains(m.Error, "move it away") || !strings.Contains(m.Error, current) {
			t.Errorf("%s: %s", m.Result, m.Error)
		}
		if w.cfg.Mirror.Generations.Intact() == nil {
			t.Error("Intact reports no damage")
		}
	}
	must(t, os.Remove(current))
	w.expect(w.demand(), "data", report.Unchanged)
	w.serves("data", september())
}

func TestRepairReportsOnlyFilesThatReadBackWhole(t *testing.T) {
	for name, damage := range damages() {
		t.Run(name, func(t *testing.T) {
			w := served(t)
			w.publish("data", "2026.10", october())
			w.expect(w.poll(), "data", report.Updated)
			must(t, damage(w))
			result, err := w.syncer.Repair(context.Background(), request.Verify{})
			for _, line := range result.Damage {
				data, _ := os.ReadFile(filepath.Join(w.dir, "generations", "000002", "data", line.Path))
				if line.Repaired && string(data) != october()[line.Path] {
					t.Errorf("%s is said to be repaired and holds %q", line.Path, data)
				}
				if !line.Repaired && !strings.Contains(line.Error, "not repaired") {
					t.Errorf("the error of %s does not say that it was not repaired: %s", line.Path, line.Error)
				}
			}
			if _, statErr := os.Stat(filepath.Join(w.dir, "current", "data")); statErr != nil && err == nil && result.OK() {
				t.Errorf("readers find nothing and the report is good: %+v", result)
			}
			w.demand()
			w.serves("data", october())
			equal(t, "damage left", len(w.repair().Damage), 0)
		})
	}
}

func TestHugeSizesNeitherOverflowNorBlockOtherManifests(t *testing.T) {
	for size, want := range map[int64]report.Result{ // an impossible size counts as unknown
		1 << 50: report.Refused, 1 << 60: report.Updated, math.MaxInt64 - 4095: report.Updated, math.MaxInt64: report.Updated,
	} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			w := start(t, "huge", "data")
			w.publish("huge", "2026.09", files{"h1": "1", "h2": "2", "h3": "3"})
			w.publish("data", "2026.09", september())
			w.provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/Metadata/*/h*", Body: fmt.Sprintf(`{"FileSize":"%d"}`, size)})
			for _, dryRun := range []bool{true, false} {
				result := w.sync(request.Sync{Demand: true, DryRun: dryRun, Trigger: "command"})
				huge := w.expect(result, "huge", want)
				equal(t, "reason", huge.Reason, map[report.Result]string{report.Refused: "no_space"}[want])
				w.expect(result, "data", report.Updated)
				for what, value := range map[string]any{"report": result, "progress": w.progress.Snapshot(), "status": w.status()} {
					if text, err := json.Marshal(value); err != nil || strings.Contains(string(text), ":-") {
						t.Errorf("%s has a negative number: %s, %v", what, text, err)
					}
				}
			}
			w.serves("data", september())
		})
	}
}

func TestAHugeContentLengthIsRefused(t *testing.T) {
	w := served(t)
	w.provider.SetManifest("data", "2026.10", emulator.File{Name: "a.dat", Release: "2026.09"},
		emulator.File{Name: "huge.dat", Content: emulator.Random(1, math.MaxInt64)})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Metadata/*"})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/SHA256/*/huge.dat", Body: strings.Repeat("ab", 32)})
	m := w.refuses(refusal.NoSpace)
	if strings.Contains(m.Error, "(-") {
		t.Errorf("error %q", m.Error)
	}
	equal(t, "downloads", w.downloads(), []string{"huge.dat"})
}

func TestADownloadWithoutALengthThatGoesFarBeyondItsMetadataIsRefused(t *testing.T) {
	w := served(t)
	const size = 160 << 20
	w.provider.SetManifest("data", "2026.10", emulator.File{Name: "a.dat", Release: "2026.09"}, emulator.File{Name: "b.dat", Release: "2026.09"},
		emulator.File{Name: "huge.dat", Content: emulator.Random(1, size)})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/Metadata/*/huge.dat", Body: `{"FileSize":"1000"}`})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/SHA256/*/huge.dat", Body: strings.Repeat("ab", 32)})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindNoLength, Host: emulator.HostDownload, Path: "*/huge.dat"})
	m := w.refuses(refusal.TooLarge)
	if !slices.Equal(w.downloads(), []string{"huge.dat"}) || m.BytesDownloaded >= size {
		t.Errorf("%v, %d bytes", w.downloads(), m.BytesDownloaded)
	}
}

func TestAWrongMetadataSizeDoesNotRefuseTheRightBytes(t *testing.T) {
	w := start(t, "data")
	content := emulator.Random(3, 3<<20)
	w.provider.SetManifest("data", "2026.10", emulator.File{Name: "a.dat", Content: content})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/Metadata/*", Body: `{"FileSize":"0"}`})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindNoLength, Host: emulator.HostDownload})
	w.expect(w.demand(), "data", report.Updated)
}

func TestBidirectionalControlsInNamesAreNotPrinted(t *testing.T) {
	w := served(t)
	// A right-to-left override, a zero-width space, a line separator, and an isolate.
	bad := "a\u202egpj\u200b\u2028\u2066.dat"
	october := october()
	october[bad] = "x"
	w.publish("data", "2026.10", october)
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload, Path: "*/a\u202e*"})
	m := w.refuses(refusal.HashMismatch)
	statusJSON, err := json.Marshal(w.status())
	must(t, err)
	history, err := status.History(w.cfg.Mirror, w.cfg.Store, 10)
	must(t, err)
	told, err := json.Marshal(history)
	must(t, err)
	for where, text := range map[string]string{"report": m.Error, "status": string(statusJSON), "history": string(told)} {
		if !strings.Contains(text, "gpj") || strings.Contains(text, `\u2028`) || strings.ContainsAny(text, "\u202e\u200b\u2028\u2066") {
			t.Errorf("%s has characters that change the display: %q", where, text)
		}
	}
	w.provider.ClearFaults()
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", october)
}
