package export

import (
	"errors"
	"fmt"

	"syscall"
)

// RefusedError says why the folder stays as it is until someone acts.
type RefusedError struct {
	Problem string
	Next    string // what to do
}

func (e *RefusedError) Error() string { return e.Problem + ": " + e.Next }

func refuse(next, problem string, args ...any) error {
	return &RefusedError{Problem: fmt.Sprintf(problem, args...), Next: next}
}

// IsRefused is true for an error that ends only when someone acts.
func IsRefused(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused)
}

// advise adds a next step to errors of the file system.
func advise(err error) error {
	var next string
	switch {
	case errors.Is(err, syscall.EROFS):
		next = "mount it for writing, and under systemd add the folder above the export to ReadWritePaths="
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		next = "export to a folder in a directory that syncd's user owns"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		next = "make room on the disk of the export"
	case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.EXDEV):
		next = "the file system may be unable to exchange two folders: export to another one"
	default:
		return err
	}
	if IsRefused(err) {
		return err
	}
	return fmt.Errorf("%w: %s", err, next)
}
