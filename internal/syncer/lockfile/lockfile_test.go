package lockfile

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The text in testdata is that of an earlier version.
func TestALockFileKeepsItsForm(t *testing.T) {
	golden, err := os.ReadFile("testdata/lock.json")
	if err != nil {
		t.Fatal(err)
	}
	lock, err := Parse(golden)
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := Write(&again, lock.Source, lock.Manifests); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), again.String()); diff != "" {
		t.Error(diff)
	}
	if m, found := lock.Manifest("other"); !found || m.Bytes != 0 || len(PlannedFiles(m)) != 1 {
		t.Errorf("%+v", m)
	}
}

func TestALockFileWithoutAnEndIsRefused(t *testing.T) {
	if _, err := read("/dev/zero", 1<<20); err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
		t.Errorf("%v", err)
	}
}
