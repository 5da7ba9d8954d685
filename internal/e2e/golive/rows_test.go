package golive_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"syncd/internal/changes"
	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// lines writes numbered rows of a table.
func lines(from, to int) string {
	var b strings.Builder
	b.WriteString("id,name\n")
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "%d,name %d\n", i, i)
	}
	return b.String()
}

// told is an event as a command gets it.
type told struct {
	Type string
	Data struct {
		Manifest, Release string
		Changes           *changes.Summary
	}
}

// events reads what the hook of these tests has noted.
func events(h *e2e.Host, kind, release string) (found []told) {
	text, _ := os.ReadFile(h.Path("events")) // none yet
	for line := range strings.Lines(string(text)) {
		var e told
		h.Must(json.Unmarshal([]byte(line), &e))
		if e.Type == "syncd."+kind && e.Data.Release == release && e.Data.Manifest == "m" {
			found = append(found, e)
		}
	}
	return found
}

func TestAReleaseThatLostRowsIsRefused(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m", "other")
	hook := "hooks:\n  - {on: [activated, staged, refused], name: note, command: [/bin/sh, -c, 'cat >>\"$0\"; echo >>\"$0\"', " + h.Path("events") + "]}\n"
	h.ConfigureWith("guards: {max_rows_gone: 10%}\n" + hook)
	file := func(name, text string) emulator.File {
		return emulator.File{Name: name, Content: emulator.Text(text)}
	}
	h.Provider.SetManifest("m", "2026.08", file("a.csv", lines(0, 1000)), file("b.csv", lines(0, 50)), file("c.csv", lines(0, 30)))
	h.Month("other", "2026.08", "a file of one row may change")
	h.Sync(0)
	served := func() string {
		text, err := os.ReadFile(h.Path("data", "current", "m", "a.csv"))
		h.Must(err)
		return string(text)
	}

	for name, files := range map[string][]emulator.File{
		"cut in half":   {file("a.csv", lines(0, 500)), file("b.csv", lines(0, 50)), file("c.csv", lines(0, 30))},
		"a small file":  {file("a.csv", lines(0, 1000)), file("b.csv", lines(0, 44)), file("c.csv", lines(0, 30))},
		"a lost file":   {file("b.csv", lines(0, 50)), file("c.csv", lines(0, 30))},
		"binary now":    {file("a.csv", strings.Repeat("\x00", 20000)), file("b.csv", lines(0, 50)), file("c.csv", lines(0, 30))},
		"other numbers": {file("a.csv", lines(5000, 6000)), file("b.csv", lines(0, 50)), file("c.csv", lines(0, 30))},
	} {
		h.Provider.SetManifest("m", "2026.09", files...)
		h.Month("other", "2026.09", name)
		result := h.Sync(1)
		if m := result.Manifests[0]; m.Result != "refused" || m.Reason != "shrink" || !strings.Contains(m.Error, "guards.max_rows_gone 10%") || !strings.Contains(m.Error, "`syncd sync --force m` accepts it") {
			t.Errorf("%s: %+v", name, m)
		}
		if served() != lines(0, 1000) || h.ServedContent("other") != name {
			t.Errorf("%s: the served files are others", name)
		}
	}
	if len(events(h, "refused", "2026.09")) != 1 {
		t.Errorf("refused was told %d times", len(events(h, "refused", "2026.09")))
	}

	h.Provider.SetManifest("m", "2026.09", file("a.csv", lines(90, 1010)), file("b.csv", lines(0, 50)), file("d.csv", lines(0, 30)))
	h.Sync(0)
	want := changes.Summary{
		Files: changes.FileCounts{Changed: 1, Moved: 1}, Rows: &changes.RowCounts{Added: 10, Gone: 90},
		BytesBefore: int64(len(lines(0, 1000)) + len(lines(0, 50)) + len(lines(0, 30))), BytesAfter: int64(len(lines(90, 1010)) + len(lines(0, 50)) + len(lines(0, 30))),
	}
	activated := events(h, "activated", "2026.09")
	if len(activated) != 1 || activated[0].Data.Changes == nil {
		t.Fatalf("activated was told as %+v", activated)
	}
	e2e.Same(h, "the changes of the event", want, *activated[0].Data.Changes)
	if first := events(h, "activated", "2026.08"); len(first) != 1 || first[0].Data.Changes != nil {
		t.Errorf("the first release was told as %+v", first)
	}
	var status struct {
		Manifests []struct{ Changes *changes.Summary }
	}
	h.Must(json.Unmarshal([]byte(h.Expect(0, "status", "--json").Stdout), &status))
	e2e.Same(h, "the changes of the status", &want, status.Manifests[0].Changes)

	h.Provider.SetManifest("m", "2026.10", file("a.csv", lines(0, 10)), file("b.csv", lines(0, 50)))
	h.Sync(1)
	h.Sync(0, "--force", "m")
	if served() != lines(0, 10) {
		t.Error("--force did not accept the release")
	}
}

// TestChangesOfAStagedRevision has a manifest whose revisions wait for an operator.
func TestChangesOfAStagedRevision(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	h.ConfigureWith("activate: manual\nhooks:\n  - {on: [activated, staged], name: note, command: [/bin/sh, -c, 'cat >>\"$0\"; echo >>\"$0\"', " + h.Path("events") + "]}\n")
	h.Offer("2026.08")
	h.Sync(0)
	h.Expect(0, "activate", "m")
	h.Offer("2026.09")
	h.Sync(0)
	h.Expect(0, "activate", "m")
	for _, kind := range []string{"staged", "activated"} {
		found := events(h, kind, "2026.09")
		if len(found) != 1 || found[0].Data.Changes == nil || found[0].Data.Changes.Files != (changes.FileCounts{Changed: 1}) || found[0].Data.Changes.Rows != nil {
			t.Errorf("%s was told as %+v", kind, found)
		}
	}
}
