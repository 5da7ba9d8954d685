package mirror

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/disk/durable"
)

func TestTheLayoutMatchesTheContractUnderAnyUmask(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "srv", "data")
	var m *Mirror
	var record Record
	underUmask(0o077, func() {
		m = recovered(t, dir)
		record = recordOf(t, m, "dq", "2026.10", files{"a.dat": "A", "linux/gcc48/64bit/x.so": "X"})
		mustPublish(t, m, record)
	})
	id := record.ID()
	want := []string{
		"drwxr-xr-x .",
		"-r--r--r-- .syncd-data-dir",
		"current -> generations/000001",
		"drwxr-xr-x generations",
		"drwxr-xr-x generations/000001",
		"generations/000001/dq -> ../../revisions/dq/" + id,
		"-r--r--r-- generations/000001/dq.SHA256SUMS",
		"-r--r--r-- generations/000001/dq.json",
		"drwxr-xr-x objects",
		"drwxr-xr-x objects/" + sumOf("X").String()[:2],
		"-r--r--r-- objects/" + sumOf("X").String()[:2] + "/" + sumOf("X").String(),
		"drwxr-xr-x objects/" + sumOf("A").String()[:2],
		"-r--r--r-- objects/" + sumOf("A").String()[:2] + "/" + sumOf("A").String(),
		"drwx------ partial",
		"drwxr-xr-x revisions",
		"drwxr-xr-x revisions/dq",
		"drwxr-xr-x revisions/dq/" + id,
		"-r--r--r-- revisions/dq/" + id + "/a.dat",
		"drwxr-xr-x revisions/dq/" + id + "/linux",
		"drwxr-xr-x revisions/dq/" + id + "/linux/gcc48",
		"drwxr-xr-x revisions/dq/" + id + "/linux/gcc48/64bit",
		"-r--r--r-- revisions/dq/" + id + "/linux/gcc48/64bit/x.so",
		"drwx------ state",
		"drwx------ state/records",
		"drwx------ state/records/dq",
		"-rw------- state/records/dq/" + id + ".json",
	}
	same(t, want, listing(t, dir))
	if info, err := os.Stat(filepath.Dir(dir)); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the folder above, made on the way: %v, %v", info.Mode(), err)
	}
	object, _ := os.Stat(m.objectPath(sumOf("A")))
	published, err := os.Stat(filepath.Join(dir, "current", "dq", "a.dat"))
	if err != nil || !os.SameFile(object, published) {
		t.Errorf("the published file is not the object: %v", err)
	}
}

func TestAnExistingDataDirectoryKeepsItsPermissions(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o750))
	recovered(t, dir)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("got mode %v of a directory made by hand, want it unchanged: %v", info.Mode(), err)
	}
}

func TestSHA256SUMSAreCheckedBySha256sum(t *testing.T) {
	tool, err := exec.LookPath("sha256sum")
	if err != nil {
		t.Skip("NOT TESTED: no sha256sum here")
	}
	m := newMirror(t)
	mustPublish(t, m, recordOf(t, m, "dq", "2026.10", files{
		"a.dat": "A", "empty.lic": "", " leading and trailing ": "B", "*star": "C", "Straße %2F.txt": "D", "-c": "E", "interfaces/any/c/any/x.h": "F",
	}))
	check := func() (string, error) {
		cmd := exec.Command(tool, "--strict", "--check", "dq.SHA256SUMS")
		cmd.Dir, cmd.Env = m.path("current"), append(os.Environ(), "LC_ALL=C")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := check(); err != nil || strings.Count(out, ": OK\n") != 7 {
		t.Errorf("%v\n%s", err, out)
	}
	replace(t, m.path("current", "dq", "a.dat"), "a")
	if out, err := check(); err == nil {
		t.Errorf("damage was not seen:\n%s", out)
	}
}

func TestTheNameOfAManifestMayEndInJSON(t *testing.T) {
	m := newMirror(t)
	mustPublish(t, m, recordOf(t, m, "list.json", "2026.10", files{"x": "1"}), recordOf(t, m, "b.SHA256SUMS", "2026.10", files{"x": "1"}))
	mustPublish(t, recovered(t, m.dir), recordOf(t, m, "list.json", "2026.11", files{"x": "2"}))
}

func TestADataDirectoryWithGlobCharactersInItsName(t *testing.T) {
	m := recovered(t, filepath.Join(t.TempDir(), "da[t]a*?\\"))
	for i := range 3 {
		mustPublish(t, m, recordOf(t, m, "a", "2026.10", files{"x": fmt.Sprint(i)}))
	}
	if _, err := m.Prune(Retention{}, days(1)); err != nil {
		t.Fatal(err)
	}
	m = recovered(t, m.dir)
	checkWhole(t, m)
	if n, _ := m.Generations.numbers(); len(n) != 1 {
		t.Errorf("pruning left %d", n)
	}
}

func TestFreeReturnsBytesAndInodes(t *testing.T) {
	free, err := newMirror(t).Free()
	if err != nil || free.Bytes <= 0 || free.Inodes == 0 {
		t.Errorf("got free space %+v, %v", free, err)
	}
	m, _ := Open(filepath.Join(t.TempDir(), "missing"), &durable.Disk{})
	if _, err := m.Free(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v for a missing directory, want fs.ErrNotExist", err)
	}
}
