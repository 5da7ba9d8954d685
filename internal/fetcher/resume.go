package fetcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"syncd/internal/fsops"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// openPartial opens the unfinished download that an earlier call left, or creates
// one. It replaces anything it cannot use, which would stop every later call too.
func openPartial(ctx context.Context, dir string, expected manifest.Digest, buffers *bufferPool) (*partial, error) {
	p := &partial{path: filepath.Join(dir, Name(expected)), algorithm: expected.Algorithm, buffers: buffers}
	file, err := fsops.OpenFile(p.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return p, p.create(file)
	}
	if !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	err = p.reopen(ctx)
	if err == nil || ctx.Err() != nil || isShortage(err) {
		return p, err
	}
	if removeErr := remove(p.path); removeErr != nil {
		return nil, fmt.Errorf("%w: remove the unfinished download: %w", err, removeErr)
	}
	return p, p.reopen(ctx)
}

// isShortage returns whether file descriptors or memory ran out. The file itself can
// still be used.
func isShortage(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// create starts with an empty file. A validator without a file is a leftover.
func (p *partial) create(file *os.File) error {
	p.file = &dataFile{file: file}
	p.reset()
	if _, err := os.Lstat(p.path + validatorSuffix); err != nil {
		return nil //nolint:nilerr // there is nothing to remove
	}
	err := fsops.RemoveAll(p.path + validatorSuffix)
	if err != nil {
		file.Close()
	}
	return err
}

// reopen continues the file at path, or creates it.
func (p *partial) reopen(ctx context.Context) error {
	file, err := openWritable(p.path)
	if err != nil {
		return err
	}
	p.file = &dataFile{file: file}
	if err := p.resume(ctx); err != nil {
		file.Close()
		return err
	}
	return nil
}

// openWritable also opens a file that was made read-only just before the last
// process was killed.
func openWritable(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path) // reading it could block for ever
	}
	f, err := fsops.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if !errors.Is(err, os.ErrPermission) || fsops.Chmod(path, 0o600) != nil {
		return f, err
	}
	return os.OpenFile(path, os.O_RDWR, 0o600)
}

// resume finds out which bytes are present, and hashes those before the first gap.
// It reads them all, because a power cut may have lost some.
func (p *partial) resume(ctx context.Context) (err error) {
	if p.validator, err = readValidator(p.path + validatorSuffix); err != nil {
		return err
	}
	info, err := p.file.file.Stat()
	if err != nil {
		return err
	}
	p.resumeLayout(info.Size())
	if end := p.layout.end(); end < info.Size() { // otherwise the bytes behind the end would stay
		if err := p.file.truncate(end); err != nil {
			return err
		}
	}
	// Without a validator the file cannot be continued, but it may be complete.
	digest, err := verify.Reader(ctx, io.NewSectionReader(p.file.file, 0, p.layout.prefix()), p.algorithm)
	p.hasher = newHasher(p.file, p.buffers, digest)
	return err
}

// resumeLayout takes the present ranges from the validator or, without gaps, from
// the size of the file.
func (p *partial) resumeLayout(size int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mayBeSaved = p.validator.Condition != ""
	p.hasGaps = p.validator.Present != nil
	p.layout.size = cmp.Or(p.validator.Total, endless)
	p.layout.present = clip([]byteRange{{0, size}}, size)
	if p.hasGaps {
		p.layout.present = clip(p.validator.Present, min(size, p.layout.size))
	}
	p.hasOldBytes = p.layout.bytes() > 0
}

// checkpointEvery is how many bytes of a file with gaps a kill can cost.
const checkpointEvery = 4 << 20

// allowGaps must be called before anything is written behind a gap. From then on the
// checkpoints say which bytes are present, because the size of the file does not.
func (p *partial) allowGaps() error {
	p.mu.Lock()
	if p.hasGaps {
		p.mu.Unlock()
		return nil
	}
	p.hasGaps, p.isSaving = true, true
	p.mu.Unlock()
	return p.saveCheckpoint()
}

// beginCheckpointIfDueLocked counts n bytes that arrived. If it returns true, the
// caller must call saveCheckpoint.
func (p *partial) beginCheckpointIfDueLocked(n int64) bool {
	if !p.hasGaps {
		return false
	}
	p.unsaved += n
	if p.unsaved < checkpointEvery || p.isSaving {
		return false
	}
	p.isSaving = true
	return true
}

// saveCheckpoint writes the validator to its file and, if there are gaps, which
// bytes are present. Other connections continue meanwhile.
func (p *partial) saveCheckpoint() error {
	p.mu.Lock()
	v := p.validator
	if p.hasGaps {
		v.Present = append([]byteRange{}, p.layout.present...)
	}
	p.mayBeSaved, p.unsaved = true, 0
	p.mu.Unlock()
	err := p.file.track(v.save(p.path + validatorSuffix))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isSaving = false
	return err
}

// remove removes an unfinished download, or whatever has its name, and its validator.
func remove(path string) error {
	return errors.Join(fsops.RemoveAll(path), fsops.RemoveAll(path+validatorSuffix))
}
