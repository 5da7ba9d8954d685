package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"syncd/internal/disk/fsops"
)

// maxAside is how many files that were set aside are kept, for each reason.
const maxAside = 3

// DamagedError says that a state file cannot be used: it is damaged, or from a newer
// syncd.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string {
	if newer, ok := errors.AsType[*newerError](e.Err); ok {
		return fmt.Sprintf("%s %v", e.Path, newer)
	}
	return fmt.Sprintf("%s is damaged: %v", e.Path, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// newerError says that a newer syncd wrote the file.
type newerError struct{ version uint32 }

func (e *newerError) Error() string {
	return fmt.Sprintf("is from a newer syncd: its schema version is %d, this syncd knows %d", e.version, schema)
}

// setAside renames the file to a name that says why and when. It keeps only the
// newest of the files that were set aside: repeated damage must not fill the disk.
func setAside(dir *fsops.Dir, name string, damaged *DamagedError) (aside string, err error) {
	reason := "damaged"
	if _, ok := errors.AsType[*newerError](damaged); ok {
		reason = "newer"
	}
	prefix := name + "." + reason + "-"
	aside = prefix + time.Now().UTC().Format("20060102T150405.000000000")
	if err := dir.Rename(name, aside); err != nil { // Open syncs the directory
		return "", err
	}
	removeOldAside(dir, prefix)
	return dir.Path(aside), nil
}

// removeOldAside ignores errors: a leftover file does no harm.
func removeOldAside(dir *fsops.Dir, prefix string) {
	names, _ := dir.Names(filepath.Dir(prefix)) // sorted, and so by time
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, filepath.Base(prefix)) })
	for _, old := range names[:max(0, len(names)-maxAside)] {
		_ = dir.Remove(filepath.Join(filepath.Dir(prefix), old))
	}
}
