package flock

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"syncd/internal/disk/fsops"
)

// Lock is a held lock. The kernel releases it when the process ends, so a crash
// never leaves the file locked.
type Lock struct {
	path string
	file *os.File
}

// HeldError says that another process holds a lock.
type HeldError struct {
	Path string
	PID  int // of the holder; 0 if it has not written its own yet
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s is locked by another process: is another syncd running?", e.Path)
	}
	return fmt.Sprintf("%s is locked by process %d: is another syncd running?", e.Path, e.PID)
}

// orphanPatience is how long Acquire waits for a child of a holder that was killed.
const orphanPatience = 5 * time.Second

// lockPast locks a file. A process that is killed while it starts a program leaves a child
// behind, which holds the lock for the moment until the program runs.
func lockPast(f *os.File) (err error) {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if err = lock(f); !isHeld(err) || !isGone(readPID(f)) || time.Since(began) > orphanPatience {
			return err
		}
	}
}

// Acquire locks a file in dir and creates it if it is missing. It does not wait for a process
// that runs: if another one holds the lock, it returns *HeldError. It refuses anything but a
// file of this user with one name, because it overwrites the file.
func Acquire(dir *fsops.Dir, name string) (*Lock, error) {
	path := dir.Path(name)
	if info, err := dir.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: remove it", path)
	}
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := checkOwn(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := lockPast(f); err != nil {
		defer f.Close()
		if isHeld(err) {
			return nil, &HeldError{Path: path, PID: readPID(f)}
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	_ = writePID(f) // only HeldError needs the id: a full disk must not stop syncd from starting
	return &Lock{path: path, file: f}, nil
}

// VanishedError says that Path no longer names the locked file: another process
// could now lock a file of that name.
type VanishedError struct {
	Path string
	Err  error // from looking at Path; nil if it names another file
}

func (e *VanishedError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("the lock file vanished: %v", e.Err)
	}
	return fmt.Sprintf("%s was replaced: it is no longer the locked file", e.Path)
}

func (e *VanishedError) Unwrap() error { return e.Err }

// Check returns *VanishedError if the path no longer names the locked file: its
// directory was removed, moved, unmounted or replaced. Safe for concurrent use.
func (l *Lock) Check() error {
	held, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("lock %s: %w", l.path, err)
	}
	found, err := os.Lstat(l.path)
	if err != nil || !os.SameFile(held, found) {
		return &VanishedError{Path: l.path, Err: err}
	}
	return nil
}

// Release gives the lock back. The file stays: after a removal, two processes could
// lock two files of the same name.
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
