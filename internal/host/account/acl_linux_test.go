package account

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/disk/fsops/acltest"
)

func TestAnAccessListCountsAsOthersWhoCanWrite(t *testing.T) {
	asRoot(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	check := func(where string, refused bool) {
		t.Helper()
		if err := CheckUnchanged(file); (err != nil) != refused {
			t.Errorf("%s: %v", where, err)
		}
	}
	check("without a list", false)
	acltest.Allow(t, file, strangerUID)
	check("a list of the file", true)
	acltest.Allow(t, file, 0)
	check("a list of root", false)
	acltest.Allow(t, dir, strangerUID)
	check("a list of the folder", true)
	if writer, err := WriterOf(file); err == nil || !strings.Contains(err.Error(), "user 23456 can write in "+dir+" by its access list") {
		t.Errorf("the writer is %+v, %v", writer, err)
	}
}
