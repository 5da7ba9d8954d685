package measure

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestCachedFollowsReadsAndDrops(t *testing.T) {
	const size = 1 << 20
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, bytes.Repeat([]byte("page"), size/4), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Cached(path); err != nil || got != size {
		t.Fatalf("after writing %d bytes, %v", got, err)
	}
	if out, err := exec.Command("sync", path).CombinedOutput(); err != nil { // dirty pages cannot be dropped
		t.Fatalf("%v: %s", err, out)
	}
	if err := DropCache(path); err != nil {
		t.Fatal(err)
	}
	if got, err := Cached(path); err != nil || got > size/2 {
		t.Errorf("after dropping them %d bytes, %v", got, err)
	}
}

func TestCommandInsideCgroupKeepsItsProcessID(t *testing.T) {
	group, err := NewCgroup(64 << 20)
	if errors.Is(err, ErrNoCgroup) {
		t.Skipf("NOT TESTED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := group.Inside(exec.Command("sh", "-c", `echo $$ "$1"; cat /proc/self/cgroup`, "sh", "an argument"))
	cmd.Stdout = &out
	p, err := Start(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(out.String(), "\n")
	if want := strconv.Itoa(p.PID()) + " an argument"; first != want {
		t.Errorf("printed %q, want %q", first, want)
	}
	if !strings.Contains(rest, filepath.Base(group.dir)) {
		t.Errorf("ran in %s", rest)
	}
	if err := group.Remove(); err != nil {
		t.Error(err)
	}
}
