//go:build linux

// Package acltest gives files access lists, for the tests of folders that others can write.
package acltest

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

// Allow lets a user write to a file or folder by an access list. It skips the test where the
// file system has none.
func Allow(t testing.TB, path string, uid uint32) {
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
