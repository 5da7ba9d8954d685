package export

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/disk/fsops/acltest"
)

func TestAFolderThatAnAccessListLetsOthersWriteIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: needs root")
	}
	top := t.TempDir()
	parent := filepath.Join(top, "srv")
	if err := os.Mkdir(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := checkAbove(filepath.Join(parent, "refdata")); err != nil {
		t.Errorf("without a list: %v", err)
	}
	for _, folder := range []string{parent, top} {
		acltest.Allow(t, folder, 23456)
		if err := checkAbove(filepath.Join(parent, "refdata")); err == nil || !strings.Contains(err.Error(), "user 23456 can write in "+folder+" by its access list") {
			t.Errorf("%s: %v", folder, err)
		}
		acltest.Allow(t, folder, 0)
	}
}
