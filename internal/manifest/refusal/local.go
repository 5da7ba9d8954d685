package refusal

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// IsLocal is true for an error of this host's disk, gates and probes: no other source of the
// same data would change it.
func IsLocal(err error) bool {
	switch ReasonOf(err) {
	case Gate, Probe, NoSpace:
		return true
	}
	var path *fs.PathError
	var link *os.LinkError
	var number syscall.Errno
	return errors.Is(err, errLocal) || errors.As(err, &path) || errors.As(err, &link) ||
		errors.As(err, &number) && (number == syscall.ENOSPC || number == syscall.EIO || number == syscall.EROFS)
}

// Local returns an error with a text for which IsLocal is true, such as one that was saved.
func Local(text string) error { return local(text) }

// errLocal is what errors of Local are.
var errLocal = errors.New("an error of this host")

type local string

func (l local) Error() string { return string(l) }

func (l local) Is(target error) bool { return target == errLocal } //nolint:errorlint // target is not wrapped
