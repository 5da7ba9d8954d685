package account

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
	allow(t, file, strangerUID)
	check("a list of the file", true)
	allow(t, file, 0)
	check("a list of root", false)
	allow(t, dir, strangerUID)
	check("a list of the folder", true)
	if writer, err := WriterOf(file); err == nil || !strings.Contains(err.Error(), "user 23456 can write in "+dir+" by its access list") {
		t.Errorf("the writer is %+v, %v", writer, err)
	}
}
