package get

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/disk/fsops"
)

// Another program can make a file of that name while the download goes on.
func TestAFileThatAppearsMeanwhileIsReplacedByForceOnly(t *testing.T) {
	top := t.TempDir()
	dir, err := fsops.OpenDir(top)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, isForced := range []bool{false, true} {
		for name, text := range map[string]string{"proven": "new", "wanted": "others"} {
			if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		g := &getter{dir: dir}
		g.Force = isForced
		err := g.place(dir, "proven", "wanted")
		want := map[bool]string{false: "others", true: "new"}[isForced]
		if text, readErr := os.ReadFile(filepath.Join(top, "wanted")); readErr != nil || string(text) != want {
			t.Errorf("forced %t: the file holds %q, %v", isForced, text, readErr)
		}
		if !isForced && (err == nil || !strings.Contains(err.Error(), "appeared meanwhile: --force replaces it")) || isForced && err != nil {
			t.Errorf("forced %t: %v", isForced, err)
		}
	}
}
