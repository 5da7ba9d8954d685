package fsops

// volume describes a file system.
type volume struct {
	size, free int64 // bytes; free for this user
	inodes     int64 // free ones; -1 where their number is not fixed
	isReadOnly bool
}

// Free returns the bytes and inodes that this user may still take; inodes is -1 where
// their number is not fixed.
func (d *Dir) Free() (bytes, inodes int64, err error) {
	v, err := volumeOf(d)
	return v.free, v.inodes, err
}

// Volume returns the size of the file system in bytes.
func (d *Dir) Volume() (int64, error) {
	v, err := volumeOf(d)
	return v.size, err
}

// IsReadOnly is true when nothing can be written to the file system.
func (d *Dir) IsReadOnly() bool {
	v, err := volumeOf(d)
	return err == nil && v.isReadOnly
}
