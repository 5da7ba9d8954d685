package commands_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/changes"
	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// changesOf runs the command and decodes what it prints.
func changesOf(h *e2e.Host, args ...string) (r changes.Report) {
	h.Helper()
	h.Must(json.Unmarshal([]byte(h.Expect(0, append(append([]string{"changes", "m"}, args...), "--json")...).Stdout), &r))
	return r
}

func TestChangesOfTwoRevisions(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	h.Settings.More = "activate: manual\n"
	h.Configure()
	more, err := os.ReadFile(h.Path("syncd.yaml"))
	h.Must(err)
	h.Write("syncd.yaml", strings.Replace(string(more), "- name: m", "- name: m\n    rows: [{glob: \"*.csv\", key: [id]}]", 1), 0o600)
	file := func(name, text string) emulator.File {
		return emulator.File{Name: name, Content: emulator.Text(text)}
	}
	h.Provider.SetManifest("m", "2026.09", file("a.csv", "id,name,n\n1,x,5\n2,y,6\n3,z,7\n"), file("old.txt", "moved\n"), file("gone.bin", "\x00"))
	h.Sync(0)
	h.Expect(0, "activate", "m")
	if r := h.Expect(1, "changes", "m"); !strings.Contains(r.Stderr, "no earlier revision of m is on disk") {
		t.Errorf("%+v", r)
	}
	h.Provider.SetManifest("m", "2026.10", file("a.csv", "id,name,n\r\n4,new,1\r\n3,z,7\r\n2,\"y\",66\r\n"), file("new.txt", "moved\n"))
	h.Sync(0)

	staged := changesOf(h, "served", "staged", "--rows")
	h.Expect(0, "activate", "m")
	got := changesOf(h, "--rows")
	e2e.Same(h, "the changes of what was staged", staged, got)
	if !strings.HasPrefix(got.From, "2026.09-") || !strings.HasPrefix(got.To, "2026.10-") || got.Manifest != "m" || len(got.Files) != 3 {
		t.Fatalf("%+v", got)
	}
	a := got.Files[0]
	e2e.Same(h, "rows of a.csv", &changes.Rows{
		Format: `delimited by ','`, Before: 3, After: 3, Added: 1, Gone: 1, Changed: 1, Columns: map[string]int64{"n": 1},
		Samples: &changes.Samples{Added: []string{"4,new,1"}, Gone: []string{"1,x,5"}, Changed: []changes.ChangedSample{{Before: "2,y,6", After: `2,"y",66`, Columns: []string{"n"}}}},
	}, a.Rows)
	if b := got.Files[1]; b.Kind != changes.Removed || !b.Binary || b.Rows != nil {
		t.Errorf("%+v", b)
	}
	if c := got.Files[2]; c.Kind != changes.Moved || c.Was != "old.txt" || c.Path != "new.txt" {
		t.Errorf("%+v", c)
	}
	e2e.Same(h, "the summary", changes.FileCounts{Removed: 1, Changed: 1, Moved: 1}, got.Summary.Files)

	for _, args := range [][]string{{"2026.09"}, {"2026.09", "2026.10"}, {got.From, got.To}, {h.Data + "/revisions/m/" + got.From, h.Data + "/current/m"}} {
		other := changesOf(h, args...)
		e2e.Same(h, "files of "+strings.Join(args, " "), got.Summary.Files, other.Summary.Files)
		if other.Files[0].Rows != nil || other.Summary.Rows != nil {
			t.Errorf("rows without --rows: %+v", other)
		}
	}
	h.Contains("the text", h.Expect(0, "changes", "m", "--rows").Stdout, "1 added, 1 gone, 1 changed", "changed by column: n 1", "- 1,x,5", "new.txt (was old.txt)", "1 file removed, 1 file changed, 1 file moved")
	if r := h.Expect(1, "changes", "m", "2025.01"); !strings.Contains(r.Stderr, "no revision 2025.01 of m is on disk: there are 2026.10-") {
		t.Errorf("%+v", r)
	}
	if names, err := filepath.Glob(filepath.Join(h.Data, "state", ".tmp-*")); err != nil || len(names) > 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

// TestChangesAsAnotherUser has a user who may only read what readers see compare the rows.
func TestChangesAsAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to become another user")
	}
	h := e2e.NewHost(t, "m")
	h.Offer("2026.09")
	h.Sync(0)
	h.Offer("2026.10")
	h.Sync(0)
	h.Must(os.Chmod(h.Path("syncd.yaml"), 0o644))
	h.As = &syscall.Credential{Uid: 65534, Gid: 65534}
	got := changesOf(h, "--rows")
	if got.Summary.Files.Changed != 1 || got.Files[0].Rows == nil || got.Files[0].Rows.Added != 1 {
		t.Errorf("%+v", got)
	}
}

// Root reads no rows of a provider, and makes no scratch files among those of another user.
func TestChangesOfRootAreReadAsTheOwnerOfTheDataDir(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	h.Must(os.Mkdir(h.Data, 0o755))
	h.Must(os.Chown(h.Data, e2e.OtherUID, e2e.OtherGID))
	h.Sync(0)
	h.Provider.AdvanceSample()
	h.Sync(0)
	h.Expect(0, "changes", "dq_addr_data", "--rows")
	files, err := filepath.Glob(filepath.Join(h.Data, "objects", "*", "*"))
	h.Must(err)
	for _, file := range files {
		h.Must(os.Chown(file, 0, 0))
		h.Must(os.Chmod(file, 0o600))
	}
	h.Contains("files of root", h.Expect(1, "changes", "dq_addr_data", "--rows").Stderr, "permission denied")
}
