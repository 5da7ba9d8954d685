package commands_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/downstream/patch"
	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// estimated is what `syncd estimate --json` prints.
type estimated struct {
	Manifests []struct {
		Manifest, From, To string
		Files              []patch.Cost
		Unchanged          int
		Sum                patch.Sum
	}
}

func TestEstimateOfTwoRevisions(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	h.Settings.More = "activate: manual\n"
	h.Configure()
	var text bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&text, "%d;%x;row\n", i, uint64(i)*0x9E3779B97F4A7C15)
	}
	file := func(name, text string) emulator.File {
		return emulator.File{Name: name, Content: emulator.Text(text)}
	}
	old := text.String()
	h.Provider.SetManifest("m", "2026.09", file("a.csv", old), file("same.txt", "the same"), file("gone.txt", "gone"), file("before.txt", "moved"))
	h.Sync(0)
	h.Expect(0, "activate", "m")
	h.Contains("one revision, named", h.Expect(1, "estimate", "m").Stderr, "no two revisions on disk of m")
	h.Contains("one revision", h.Expect(0, "estimate").Stderr, "no two revisions on disk of m")

	h.Provider.SetManifest("m", "2026.10", file("a.csv", "new;row\n"+old), file("same.txt", "the same"), file("after.txt", "moved"), file("new.txt", strings.Repeat("new ", 1000)), file("new-again.txt", strings.Repeat("new ", 1000)))
	h.Sync(0)
	ask := func(args ...string) (e estimated) {
		h.Must(json.Unmarshal([]byte(h.Expect(0, append([]string{"estimate", "--json"}, args...)...).Stdout), &e))
		return e
	}
	staged := ask("m")
	h.Expect(0, "activate", "m")
	served := ask()
	e2e.Same(h, "the estimate of what was staged", staged, served)
	if len(served.Manifests) != 1 {
		t.Fatalf("%+v", served)
	}
	m := served.Manifests[0]
	if !strings.HasPrefix(m.From, "2026.09-") || !strings.HasPrefix(m.To, "2026.10-") || len(m.Files) != 2 || m.Unchanged != 3 {
		t.Fatalf("%+v", m)
	}
	for _, c := range m.Files {
		switch c.Path {
		case "a.csv":
			if c.Change != "changed" || c.Whole != int64(len(old))+8 || c.Zstd >= c.Whole || c.Patch == nil || *c.Patch > 300 {
				t.Errorf("%+v", c)
			}
		case "new.txt", "new-again.txt":
			if c.Change != "added" || c.Whole != 4000 || c.Zstd > 100 || c.Patch != nil {
				t.Errorf("%+v", c)
			}
		default:
			t.Errorf("%+v", c)
		}
	}
	if least := m.Files[0].Smallest() + m.Files[1].Smallest(); m.Sum.Smallest != least || m.Sum.Whole != int64(len(old))+4008 {
		t.Errorf("%+v", m.Sum)
	}
	h.Contains("the text", h.Expect(0, "estimate").Stdout, "m: from 2026.09-", "changed", "a.csv", "added", "2 new contents, 3 files unchanged")

	h.Expect(0, "rollback")
	e2e.Same(h, "the estimate after a rollback", staged, ask())
	if names, err := filepath.Glob(filepath.Join(h.Data, "*", ".tmp-*")); err != nil || len(names) > 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}
