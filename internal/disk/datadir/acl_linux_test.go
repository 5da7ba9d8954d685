package datadir

import (
	"encoding/binary"
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

// The mode shows the same as for a folder that the group of root can write.
func TestDataDirThatAnAccessListLetsOthersWriteIsRefused(t *testing.T) {
	asRoot(t)
	dir := prepared(t)
	allow(t, dir, 0)
	must(t, openForChangesAt(dir), openAt(dir))
	allow(t, dir, stranger)
	wantRefused(t, dir, "user 23456 can write in", dir, "by its access list: run `setfacl -b` on it")
}
