package fsops

import "os"

// Exchange swaps two files or directories in one step: at every moment both names are
// taken. Like Move, it follows symlinks on the way to a name with several segments.
func Exchange(a *Dir, aName string, b *Dir, bName string) error {
	return stepIn("exchange", b.path, bName, func() error {
		if err := exchange(a, aName, b, bName); err != nil {
			return &os.LinkError{Op: "exchange", Old: a.Path(aName), New: b.Path(bName), Err: err}
		}
		return nil
	})
}
