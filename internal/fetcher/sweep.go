package fetcher

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"syncd/internal/fsops"
	"syncd/internal/manifest"
)

// Name returns the file name of the unfinished download with that expected digest.
func Name(expected manifest.Digest) string {
	return strings.ReplaceAll(expected.String(), ":", "-")
}

// Sweep removes everything from dir but the unfinished downloads whose names are in
// wanted, and their validators. It goes on after an error and returns all of them.
func Sweep(dir string, wanted map[string]bool) error {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if name := strings.TrimSuffix(entry.Name(), validatorSuffix); !wanted[name] {
			err = errors.Join(err, fsops.RemoveAll(filepath.Join(dir, entry.Name())))
		}
	}
	return err
}

// remove removes an unfinished download, or whatever has its name, and its validator.
func remove(path string) error {
	return errors.Join(fsops.RemoveAll(path), fsops.RemoveAll(path+validatorSuffix))
}
