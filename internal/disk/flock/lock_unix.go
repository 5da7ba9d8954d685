//go:build !windows

package flock

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

func isHeld(err error) bool { return errors.Is(err, unix.EWOULDBLOCK) }

// isGone is true for the ID of a process that has ended.
func isGone(pid int) bool { return pid > 0 && errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// checkOwn requires a file of this user that has no second name.
func checkOwn(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return &os.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	switch {
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d: remove it, or run syncd as that user", f.Name(), st.Uid)
	case st.Nlink != 1:
		return fmt.Errorf("%s is a hard link to another file: remove it", f.Name())
	}
	return nil
}
