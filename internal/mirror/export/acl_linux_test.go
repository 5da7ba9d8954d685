package export

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// allow lets a user write by an access list.
func allow(t *testing.T, path string, uid uint32) {
	t.Helper()
	list := []byte{2, 0, 0, 0} // version
	for _, e := range [][3]uint32{{1, 7, 1<<32 - 1}, {2, 7, uid}, {4, 5, 1<<32 - 1}, {16, 7, 1<<32 - 1}, {32, 5, 1<<32 - 1}} {
		list = binary.LittleEndian.AppendUint16(list, uint16(e[0]))
		list = binary.LittleEndian.AppendUint16(list, uint16(e[1]))
		list = binary.LittleEndian.AppendUint32(list, e[2])
	}
	if err := unix.Setxattr(path, "system.posix_acl_access", list, 0); err != nil {
		t.Skipf("NOT TESTED: the file system has no access lists: %v", err)
	}
}

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
		allow(t, folder, 23456)
		if err := checkAbove(filepath.Join(parent, "refdata")); err == nil || !strings.Contains(err.Error(), "user 23456 can write in "+folder+" by its access list") {
			t.Errorf("%s: %v", folder, err)
		}
		allow(t, folder, 0)
	}
}
