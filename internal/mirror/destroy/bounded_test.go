package destroy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/disk/fsops"
)

// Root reads the notes in the data directory of another user. The text of one is bounded, and
// 40,000,000 empty values of it took 5 GiB.
func TestANoteOfTooManyValuesIsAnError(t *testing.T) {
	top := t.TempDir()
	folder := filepath.Join(top, dir, "name")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	text := `{"manifest":"name","release":"2026.10","at":"2026-01-01T00:00:00Z","contents":[` + strings.Repeat("{},", maxParts) + "{}]}"
	if err := os.WriteFile(filepath.Join(folder, "2026.10-aaaaaaaaaaaa.1"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := fsops.OpenDir(top)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	list, err := NewLedger(root, nil).Destructions("")
	if len(list) != 0 || err == nil || !strings.Contains(err.Error(), "move it away: it is longer than any that syncd writes") {
		t.Errorf("%d notes, %v", len(list), err)
	}
}
