package space

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest/refusal"
)

func TestUnlimitedInodesStayUnlimited(t *testing.T) {
	unlimited := Amount{Bytes: 10, Inodes: -1}
	if sum := unlimited.Plus(Amount{Bytes: 1, Inodes: 1}); sum != (Amount{Bytes: 11, Inodes: -1}) {
		t.Errorf("sum %+v", sum)
	}
	if rest := unlimited.Minus(Amount{Bytes: 11, Inodes: 1}); rest != (Amount{Bytes: 0, Inodes: -1}) {
		t.Errorf("rest %+v", rest)
	}
	if !Fits(Amount{Inodes: 1 << 40}, unlimited) {
		t.Error("inodes do not fit without a limit")
	}
}

func TestSumsOfHugeAmountsDoNotOverflow(t *testing.T) {
	sum := OfContent(1 << 62)
	for range 100 {
		sum = sum.Plus(OfContent(1 << 62))
	}
	if sum.Bytes < Max {
		t.Errorf("%d bytes", sum.Bytes)
	}
}

func TestARefusalNamesTheLackingPart(t *testing.T) {
	for want, row := range map[string][2]Amount{
		"needs 8.0 KiB (8192 bytes), none are free; later: make room": {{Bytes: 8192}, {}},
		"needs 2 inodes, 1 inodes are free; later: make room":         {{Inodes: 2}, {Inodes: 1}},
	} {
		err := Refuse(row[0], row[1], "; later")
		if refusal.ReasonOf(err) != refusal.NoSpace || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s…", err, want)
		}
	}
}

// Where no earlier revision is kept, a lower `retain` frees nothing.
func TestARefusalRecommendsWhatHelps(t *testing.T) {
	need, free := Amount{Bytes: 2 << 20}, Amount{Bytes: 1 << 20}
	for outlook, want := range map[string]bool{"": false, "; 1 MiB (1048576 bytes) more with `retain: 0`": true} {
		if err := Refuse(need, free, outlook); strings.Contains(err.Error(), "lower `retain`") != want {
			t.Errorf("%q: %v", outlook, err)
		}
	}
}

func TestOnlyAFullDiskBecomesARefusal(t *testing.T) {
	full := RefuseIfFull(fmt.Errorf("write: %w", unix.ENOSPC))
	if refusal.ReasonOf(full) != refusal.NoSpace || RefuseIfFull(full) != full {
		t.Errorf("%v", full)
	}
	if other := errors.New("other"); RefuseIfFull(other) != other || RefuseIfFull(nil) != nil {
		t.Error("another error changed")
	}
}

func TestFreeReturnsBytesAndInodes(t *testing.T) {
	dir, err := fsops.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	free, err := Free(dir)
	if err != nil || free.Bytes <= 0 || free.Inodes == 0 {
		t.Errorf("%+v, %v", free, err)
	}
	if _, err := Free(nil); err == nil {
		t.Error("a missing directory has free space")
	}
}
