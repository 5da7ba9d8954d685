package fsops

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// The form of an access list of POSIX in its extended attribute.
const (
	aclName   = "system.posix_acl_access"
	aclHeader = 4 // bytes
	aclEntry  = 8
	aclUser   = 2
	aclGroup  = 8
	aclWrite  = 2
	maxACL    = 64 << 10 // of the kernel
)

// WriterInACL names a user or a group that the access list of a file or folder lets write,
// besides root, group 0 and the user uid; "" for none. The permissions in the mode do not
// tell: those of the group are the mask of the list.
func WriterInACL(path string, uid int) string {
	list := make([]byte, maxACL)
	n, err := unix.Getxattr(path, aclName, list)
	if err != nil || n < aclHeader {
		return "" // most have none
	}
	for list = list[aclHeader:n]; len(list) >= aclEntry; list = list[aclEntry:] {
		kind, perm := binary.LittleEndian.Uint16(list), binary.LittleEndian.Uint16(list[2:])
		id := int(binary.LittleEndian.Uint32(list[4:]))
		switch {
		case perm&aclWrite == 0 || id == 0:
		case kind == aclUser && id != uid:
			return fmt.Sprintf("user %d", id)
		case kind == aclGroup:
			return fmt.Sprintf("members of group %d", id)
		}
	}
	return ""
}
