// Package datadir opens a data directory so that it is safe to work in. A directory
// opened for changes has syncd's mark, and only trusted users can write in it, see
// checkWriters. Its folders are directories of the same user and no symlinks.
//
// Another user with write access could plant a symlink, and syncd would remove the
// files in the folder that it points at. The mark keeps syncd from pruning a folder of
// another program.
//
// The directory is opened once. Everything else works below the open directory
// (fsops.Dir), so a path that leads elsewhere later does no harm. A symlink in the
// place of an object, a revision or a generation counts as missing; it is removed or
// replaced as a link.
package datadir
