package files_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"syncd/internal/e2e"
)

// servedFile is what `served --json` says about one file.
type servedFile struct{ Tree, Digest string }

func servedAt(h *e2e.Host, at time.Time, path string) servedFile {
	h.Helper()
	var out struct {
		Served []struct {
			Name, Tree string
			LiveSince  time.Time `json:"live_since"`
			Files      []struct{ Path, SHA256 string }
		}
	}
	h.Must(json.Unmarshal([]byte(h.Expect(0, "served", "--json", "--at", at.Format(time.RFC3339Nano), path).Stdout), &out))
	if len(out.Served) != 1 || len(out.Served[0].Files) != 1 || out.Served[0].Files[0].Path != path || out.Served[0].LiveSince.After(at) {
		h.Fatalf("served %+v", out)
	}
	return servedFile{out.Served[0].Tree, out.Served[0].Files[0].SHA256}
}

func TestServedTellsWhatWasServedAfterItWasPruned(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.ConfigureWith("retain: 0\nretain_for: 0s\nviews:\n  - {name: refdata, layout: provider}")
	started := time.Now()
	h.Contains("no data_dir", h.Expect(1, "served", "--at", started.Format(time.RFC3339)).Stderr, "there are no records yet")
	const path, inView = "dq_addr_data/mdAddr.dat", "refdata/dq_addr_data/data/mdAddr.dat"
	var at []time.Time
	var want []servedFile
	for range 3 {
		m := h.Sync(0).Manifests[0]
		at = append(at, time.Now())
		want = append(want, servedFile{m.Release + "-" + m.Revision, h.Published("dq_addr_data")["mdAddr.dat"]})
		h.Provider.AdvanceSample()
	}
	revisions, err := os.ReadDir(filepath.Join(h.Data, "revisions", "dq_addr_data"))
	h.Must(err)
	e2e.Same(h, "revisions on disk", 1, len(revisions))
	h.Must(os.Remove(filepath.Join(h.Data, "state", "syncd.db")))
	for i := range at {
		e2e.Same(h, "served", want[i], servedAt(h, at[i], path))
		e2e.Same(h, "in the view", want[i].Digest, servedAt(h, at[i], inView).Digest)
	}
	h.Contains("all", h.Expect(0, "served", "--at", at[0].Format(time.RFC3339Nano)).Stdout, "dq_addr_data  "+want[0].Tree+"  live since ", "refdata  ")
	h.Contains("file", h.Expect(0, "served", "--at", at[1].Format(time.RFC3339Nano), "/"+path).Stdout, want[1].Digest+"  "+path+"  "+want[1].Tree+"  live since ")
	h.Contains("before", h.Expect(1, "served", "--at", started.Add(-time.Hour).Format(time.RFC3339)).Stderr, "the records begin at")
	h.Contains("longer ago", h.Expect(1, "served", "--at", "2020-01-01T00:00:00Z").Stderr, "audit.keep")
	h.Contains("no such file", h.Expect(1, "served", "--at", at[0].Format(time.RFC3339Nano), "dq_addr_data/none").Stderr, "nothing was served at dq_addr_data/none then")
	h.Expect(2, "served", "--at", time.Now().Add(time.Hour).Format(time.RFC3339))
	h.Expect(2, "served", "--at", "yesterday")
	h.Expect(2, "served")
}

func TestServedKeepsNoMoreThanAuditKeepSays(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.ConfigureWith("audit: {keep: 0s}")
	for range 4 {
		h.Sync(0)
		h.Provider.AdvanceSample()
	}
	events, err := os.ReadFile(filepath.Join(h.Data, "state", "audit", "events"))
	h.Must(err)
	trees, err := filepath.Glob(filepath.Join(h.Data, "state", "audit", "trees", "*", "*"))
	h.Must(err)
	e2e.Same(h, "events and trees", []int{1, 1}, []int{strings.Count(string(events), "\n"), len(trees)})
}

// A crash between a swap and its record, and a data directory of a version without
// records, look like this.
func TestServedCatchesUpWithWhatIsOnDisk(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	between := time.Now()
	h.Provider.AdvanceSample()
	want := h.Published("dq_addr_data")["mdAddr.dat"]
	h.Sync(0)
	h.Must(os.RemoveAll(filepath.Join(h.Data, "state", "audit")))
	h.Sync(0)
	e2e.Same(h, "digest", want, servedAt(h, between, "dq_addr_data/mdAddr.dat").Digest)
	e2e.Same(h, "digest now", h.Published("dq_addr_data")["mdAddr.dat"], servedAt(h, time.Now(), "dq_addr_data/mdAddr.dat").Digest)
}

func TestDamagedRecordsOfTheAuditLoseNoOthers(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	first := time.Now()
	const path = "dq_addr_data/mdAddr.dat"
	want := servedAt(h, first, path)
	file := filepath.Join(h.Data, "state", "audit", "events")
	read := func() string {
		text, err := os.ReadFile(file)
		h.Must(err)
		return string(text)
	}
	events := read()
	h.Must(errors.Join(os.Rename(file, file+".away"), unix.Mkfifo(file, 0o600))) // the disk cannot read it for a time
	d := h.Daemon()
	h.Must(errors.Join(os.Remove(file), os.Rename(file+".away", file)))
	h.Provider.AdvanceSample()
	h.Sync(0)
	d.Terminate()
	e2e.Same(h, "after a failed read", want, servedAt(h, first, path))

	const damage = `{"at":"2026-`
	h.Must(os.WriteFile(file, []byte(damage+"\n"+read()[len(events):]), 0o600))
	h.Provider.AdvanceSample()
	h.Sync(0)
	h.Contains("damage", read(), damage+"\n")
	h.Contains("warning", h.Expect(0, "served", "--at", time.Now().Format(time.RFC3339Nano)).Stderr, "1 damaged lines in state/audit/events")
	h.Must(os.WriteFile(file, []byte(events+strings.TrimPrefix(read(), damage+"\n")), 0o600))
	e2e.Same(h, "after a repair by hand", want, servedAt(h, first, path))
}

// A FIFO in the place of a folder, and a sparse file without an end, hold up no command.
func TestHarmfulFilesOfTheAuditHoldUpNothing(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	trees := filepath.Join(h.Data, "state", "audit", "trees", "dq_addr_data")
	h.Must(errors.Join(os.RemoveAll(trees), unix.Mkfifo(trees, 0o600)))
	h.Provider.AdvanceSample()
	h.Contains("warning about a FIFO", h.Expect(0, "sync").Stderr, "recording what is served failed")
	events := filepath.Join(h.Data, "state", "audit", "events")
	h.Must(errors.Join(os.Remove(trees), os.Truncate(events, 1<<40)))
	h.Provider.AdvanceSample()
	h.Contains("warning about a sparse file", h.Expect(0, "sync").Stderr, "move it away")
	h.Contains("served", h.Expect(1, "served", "--at", time.Now().Format(time.RFC3339Nano)).Stderr, "move it away")
	h.Must(os.Remove(events)) // the harness reads all files for the Customer ID
}

// The state of an earlier backup knows less than the generations on disk.
func TestServedTellsWhatAnEarlierStateDoesNotKnow(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	state, path := filepath.Join(h.Data, "state"), "dq_addr_data/mdAddr.dat"
	h.Sync(0)
	h.Must(os.CopyFS(state+".backup", os.DirFS(state)))
	var at []time.Time
	var want []servedFile
	for range 2 {
		h.Provider.AdvanceSample()
		m := h.Sync(0).Manifests[0]
		at = append(at, time.Now())
		want = append(want, servedFile{m.Release + "-" + m.Revision, h.Published("dq_addr_data")["mdAddr.dat"]})
	}
	h.Must(os.RemoveAll(state))
	h.Must(os.Rename(state+".backup", state))
	h.Sync(0)
	for i := range at {
		e2e.Same(h, "served", want[i], servedAt(h, at[i], path))
	}
}
