package fetcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"syncd/internal/fsops"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// Name is the name of the unfinished download of a content.
func Name(expected manifest.Digest) string {
	return strings.ReplaceAll(expected.String(), ":", "-")
}

// openPartial opens what an earlier call left, or a new file in place of
// something that cannot be used and would stop every later call too.
func openPartial(ctx context.Context, dir string, expected manifest.Digest, buffers *sync.Pool) (*partial, error) {
	p := &partial{path: filepath.Join(dir, Name(expected)), algorithm: expected.Algorithm, buffers: buffers}
	var err error
	if p.file, err = fsops.OpenFile(p.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		p.forget()
		if _, err := os.Lstat(p.path + validatorSuffix); err != nil {
			return p, nil
		}
		if err := fsops.RemoveAll(p.path + validatorSuffix); err != nil { // of a file that is gone
			p.file.Close()
			return nil, err
		}
		return p, nil
	}
	if !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	err = p.reopen(ctx)
	if err == nil || ctx.Err() != nil || isShortage(err) {
		return p, err
	}
	if removeErr := remove(p.path); removeErr != nil {
		return nil, fmt.Errorf("%w: it cannot be removed: %w", err, removeErr)
	}
	return p, p.reopen(ctx)
}

// isShortage is true when a file could not be opened through no fault of its own.
func isShortage(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// reopen opens the file at path, or a new one. The kept bytes are read once more,
// to hash them: a crash may have lost some.
func (p *partial) reopen(ctx context.Context) (err error) {
	if p.file, err = openWritable(p.path); err != nil {
		return err
	}
	if err := p.resume(ctx); err != nil {
		p.file.Close()
		return err
	}
	return nil
}

// openWritable opens a partial file, also one that was about to become a
// read-only object when the last process was killed.
func openWritable(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path) // to read it could take for ever
	}
	f, err := fsops.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if !errors.Is(err, os.ErrPermission) || fsops.Chmod(path, 0o600) != nil {
		return f, err
	}
	return os.OpenFile(path, os.O_RDWR, 0o600)
}

func (p *partial) resume(ctx context.Context) (err error) {
	if p.validator, err = readValidator(p.path + validatorSuffix); err != nil {
		return err
	}
	p.isNoted = p.validator.Condition != ""
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	p.layout.size = cmp.Or(p.validator.Total, endless)
	p.layout.here = within([]span{{0, info.Size()}}, info.Size())
	if p.hasGaps = p.validator.Here != nil; p.hasGaps {
		p.layout.here = within(p.validator.Here, min(info.Size(), p.layout.size))
	}
	if end := p.layout.end(); end < info.Size() { // what is behind would stay
		if err := fsops.Truncate(p.file, end); err != nil {
			return err
		}
	}
	p.isOld = p.layout.bytes() > 0
	// Without a validator the file cannot be continued, but it may be complete.
	hasher, err := verify.Reader(ctx, io.NewSectionReader(p.file, 0, p.layout.prefix()), p.algorithm)
	p.follow(hasher)
	return err
}

// remove removes whatever is in the place of a partial file and its validator.
func remove(path string) error {
	return errors.Join(fsops.RemoveAll(path), fsops.RemoveAll(path+validatorSuffix))
}

// Sweep removes the unfinished downloads in dir whose digest wanted does not hold.
func Sweep(dir string, wanted map[string]bool) error {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if name := strings.TrimSuffix(entry.Name(), validatorSuffix); !wanted[name] {
			err = errors.Join(err, fsops.RemoveAll(filepath.Join(dir, entry.Name())))
		}
	}
	return err
}
