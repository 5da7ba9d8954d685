package room

import (
	"fmt"

	"syncd/internal/disk/space"
	"syncd/internal/mirror"
)

// CheckView refuses a view whose tree does not fit beside those of the views before it and
// the space that others have reserved.
func CheckView(m *mirror.Mirror, v mirror.View, before []mirror.View, others space.Amount) error {
	for _, made := range before {
		others = others.Plus(needOfView(m, made))
	}
	need := needOfView(m, v)
	free, err := m.Free()
	if free = free.Minus(others); err == nil && !space.Fits(need, free) {
		err = space.Refuse(need, free, "")
	}
	if err != nil {
		return fmt.Errorf("view %s: %w", v.Name, err)
	}
	return nil
}

// needOfView is the space for the tree of a view, nothing if it is on disk.
func needOfView(m *mirror.Mirror, v mirror.View) (need space.Amount) {
	if m.Trees.Has(v) {
		return need
	}
	need.Inodes = int64(2 * v.Count())
	need.Bytes = Overhead + int64(v.Count())*overheadPerFile
	if v.HashFiles {
		need.Bytes += int64(len(v.Files)) * space.BlockSize
	}
	if m.CopiesBytes() {
		need.Bytes += v.Bytes
	}
	return need
}
