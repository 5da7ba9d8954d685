package datadir

import (
	"testing"

	"syncd/internal/disk/fsops/acltest"
)

// The mode shows the same as for a folder that the group of root can write.
func TestDataDirThatAnAccessListLetsOthersWriteIsRefused(t *testing.T) {
	asRoot(t)
	dir := prepared(t)
	acltest.Allow(t, dir, 0)
	must(t, openForChangesAt(dir), openAt(dir))
	acltest.Allow(t, dir, stranger)
	wantRefused(t, dir, "user 23456 can write in", dir, "by its access list: run `setfacl -b` on it")
}
