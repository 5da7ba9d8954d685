package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// servedFile is what `served --json` says about one file.
type servedFile struct{ Tree, Digest string }

func (h *host) servedAt(at time.Time, path string) servedFile {
	h.Helper()
	var out struct {
		Served []struct {
			Name, Tree string
			LiveSince  time.Time `json:"live_since"`
			Files      []struct{ Path, SHA256 string }
		}
	}
	h.must(json.Unmarshal([]byte(h.expect(0, "served", "--json", "--at", at.Format(time.RFC3339Nano), path).stdout), &out))
	if len(out.Served) != 1 || len(out.Served[0].Files) != 1 || out.Served[0].Files[0].Path != path || out.Served[0].LiveSince.After(at) {
		h.Fatalf("served %+v", out)
	}
	return servedFile{out.Served[0].Tree, out.Served[0].Files[0].SHA256}
}

func TestServedTellsWhatWasServedAfterItWasPruned(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.settings.more = "retain: 0\nretain_for: 0s\nviews:\n  - {name: refdata, layout: provider}"
	h.configure()
	started := time.Now()
	h.contains("no data_dir", h.expect(1, "served", "--at", started.Format(time.RFC3339)).stderr, "there are no records yet")
	const path, inView = "dq_addr_data/mdAddr.dat", "refdata/dq_addr_data/data/mdAddr.dat"
	var at []time.Time
	var want []servedFile
	for range 3 {
		m := h.sync(0).Manifests[0]
		at = append(at, time.Now())
		want = append(want, servedFile{m.Release + "-" + m.Revision, h.published("dq_addr_data")["mdAddr.dat"]})
		h.provider.AdvanceSample()
	}
	revisions, err := os.ReadDir(filepath.Join(h.data, "revisions", "dq_addr_data"))
	h.must(err)
	same(h, "revisions on disk", 1, len(revisions))
	h.must(os.Remove(filepath.Join(h.data, "state", "syncd.db")))
	for i := range at {
		same(h, "served", want[i], h.servedAt(at[i], path))
		same(h, "in the view", want[i].Digest, h.servedAt(at[i], inView).Digest)
	}
	h.contains("all", h.expect(0, "served", "--at", at[0].Format(time.RFC3339Nano)).stdout, "dq_addr_data  "+want[0].Tree+"  live since ", "refdata  ")
	h.contains("file", h.expect(0, "served", "--at", at[1].Format(time.RFC3339Nano), "/"+path).stdout, want[1].Digest+"  "+path+"  "+want[1].Tree+"  live since ")
	h.contains("before", h.expect(1, "served", "--at", started.Add(-time.Hour).Format(time.RFC3339)).stderr, "the records begin at")
	h.contains("longer ago", h.expect(1, "served", "--at", "2020-01-01T00:00:00Z").stderr, "audit.keep")
	h.contains("no such file", h.expect(1, "served", "--at", at[0].Format(time.RFC3339Nano), "dq_addr_data/none").stderr, "nothing was served at dq_addr_data/none then")
	h.expect(2, "served", "--at", time.Now().Add(time.Hour).Format(time.RFC3339))
	h.expect(2, "served", "--at", "yesterday")
	h.expect(2, "served")
}

func TestServedKeepsNoMoreThanAuditKeepSays(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.settings.more = "audit: {keep: 0s}"
	h.configure()
	for range 4 {
		h.sync(0)
		h.provider.AdvanceSample()
	}
	events, err := os.ReadFile(filepath.Join(h.data, "state", "audit", "events"))
	h.must(err)
	trees, err := filepath.Glob(filepath.Join(h.data, "state", "audit", "trees", "*", "*"))
	h.must(err)
	same(h, "events and trees", []int{1, 1}, []int{strings.Count(string(events), "\n"), len(trees)})
}

// A crash between a swap and its record, and a data directory of a version without
// records, look like this.
func TestServedCatchesUpWithWhatIsOnDisk(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	between := time.Now()
	h.provider.AdvanceSample()
	want := h.published("dq_addr_data")["mdAddr.dat"]
	h.sync(0)
	h.must(os.RemoveAll(filepath.Join(h.data, "state", "audit")))
	h.sync(0)
	same(h, "digest", want, h.servedAt(between, "dq_addr_data/mdAddr.dat").Digest)
	same(h, "digest now", h.published("dq_addr_data")["mdAddr.dat"], h.servedAt(time.Now(), "dq_addr_data/mdAddr.dat").Digest)
}

func TestDamagedRecordsOfTheAuditLoseNoOthers(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	first := time.Now()
	const path = "dq_addr_data/mdAddr.dat"
	want := h.servedAt(first, path)
	file := filepath.Join(h.data, "state", "audit", "events")
	read := func() string {
		text, err := os.ReadFile(file)
		h.must(err)
		return string(text)
	}
	events := read()
	h.must(errors.Join(os.Rename(file, file+".away"), unix.Mkfifo(file, 0o600))) // the disk cannot read it for a time
	d := h.daemon()
	h.must(errors.Join(os.Remove(file), os.Rename(file+".away", file)))
	h.provider.AdvanceSample()
	h.sync(0)
	d.terminate()
	same(h, "after a failed read", want, h.servedAt(first, path))

	const damage = `{"at":"2026-`
	h.must(os.WriteFile(file, []byte(damage+"\n"+read()[len(events):]), 0o600))
	h.provider.AdvanceSample()
	h.sync(0)
	h.contains("damage", read(), damage+"\n")
	h.contains("warning", h.expect(0, "served", "--at", time.Now().Format(time.RFC3339Nano)).stderr, "1 damaged lines in state/audit/events")
	h.must(os.WriteFile(file, []byte(events+strings.TrimPrefix(read(), damage+"\n")), 0o600))
	same(h, "after a repair by hand", want, h.servedAt(first, path))
}
