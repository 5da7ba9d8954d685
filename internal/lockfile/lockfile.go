// Package lockfile keeps a second syncd out of a data directory: an exclusive
// flock(2) on a file that holds the owner's process id.
package lockfile

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Lock is an exclusive flock on a file that holds the owner's process id. The
// kernel drops it with the process, so a crash never leaves it locked.
type Lock struct {
	path string
	file *os.File
}

// HeldError says that another process holds a lock.
type HeldError struct {
	Path string
	PID  int // 0 when the holder has not written it yet
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s is locked by another process: is another syncd running?", e.Path)
	}
	return fmt.Sprintf("%s is locked by process %d: is another syncd running?", e.Path, e.PID)
}

// Acquire takes the lock at once or returns *HeldError.
func Acquire(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &HeldError{Path: path, PID: readPID(f)}
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	_ = writePID(f) // it is for people: a full disk must not keep the holder from starting
	return &Lock{path: path, file: f}, nil
}

// VanishedError says that a lock is held on a file that its name leads to no
// longer: another process could take the lock of that name now.
type VanishedError struct {
	Path string
	Err  error // why nothing is found there; nil for another file
}

func (e *VanishedError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("the lock vanished: %v", e.Err)
	}
	return fmt.Sprintf("%s is not the file that is locked: it was replaced", e.Path)
}

func (e *VanishedError) Unwrap() error { return e.Err }

// Check is nil while the name still leads to the file that is locked, and
// *VanishedError when it does not: the folder was removed, moved or unmounted, or
// another one took its place. Safe for concurrent use.
func (l *Lock) Check() error {
	held, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("lock %s: %w", l.path, err)
	}
	found, err := os.Stat(l.path)
	if err != nil || !os.SameFile(held, found) {
		return &VanishedError{Path: l.path, Err: err}
	}
	return nil
}

// Release gives the lock back. The file stays: removing it would let two
// processes hold locks on two files of one name.
func (l *Lock) Release() error { return l.file.Close() }

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func readPID(f *os.File) int {
	buf := make([]byte, 32)
	n, _ := f.ReadAt(buf, 0)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	return pid
}
