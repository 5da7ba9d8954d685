package fetcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// finalPerm are the permissions of a proven file.
const finalPerm = 0o444

// openPartial opens the unfinished download that an earlier call left, or creates
// one. It replaces anything it cannot use, which would stop every later call too.
func (f *Fetcher) openPartial(ctx context.Context, expected manifest.Digest, isSmall bool) (*partial, error) {
	p := &partial{dir: f.dir, name: Name(expected), algorithm: expected.Algorithm, buffers: f.buffers, keepCache: f.keepCache || isSmall}
	file, err := f.create(ctx, p)
	if err == nil {
		p.file = file
		p.reset()
		return p, nil
	}
	if !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	err = p.reopen(ctx)
	if err == nil || ctx.Err() != nil || isShortage(err) {
		return p, err
	}
	if removeErr := p.remove(); removeErr != nil {
		return nil, fmt.Errorf("%w: remove the unfinished download: %w", err, removeErr)
	}
	return p, p.reopen(ctx)
}

// maxCreating is how many files are created at once. The kernel creates one at a time in a
// directory, and each that waits there would take a thread.
const maxCreating = 4

// create creates the file of p. With its final permissions, finish need not change them:
// its descriptor may write all the same. Direct writes need a second descriptor. It does not
// look for a leftover validator, which would cost each small file a system call: bytes that it
// describes do not exist.
func (f *Fetcher) create(ctx context.Context, p *partial) (*dataFile, error) {
	if err := f.creating.Acquire(ctx, 1); err != nil {
		return nil, context.Cause(ctx)
	}
	defer f.creating.Release(1)
	if p.keepCache {
		file, err := fsops.Create(f.dir, p.name, finalPerm)
		if err != nil {
			return nil, err
		}
		return &dataFile{created: file}, nil
	}
	file, err := f.dir.OpenFile(p.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return p.newDataFile(file), nil
}

// isShortage returns whether file descriptors or memory ran out. The file itself can
// still be used.
func isShortage(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// reopen continues the file, or creates it.
func (p *partial) reopen(ctx context.Context) error {
	file, err := p.openWritable()
	if err != nil {
		return err
	}
	p.file = p.newDataFile(file)
	if err := p.resume(ctx); err != nil {
		file.Close()
		return err
	}
	return nil
}

// openWritable opens a file that may be read-only, as proven files are.
func (p *partial) openWritable() (*os.File, error) {
	if err := p.checkOwn(); err != nil {
		return nil, err
	}
	f, err := p.dir.OpenFile(p.name, os.O_RDWR|os.O_CREATE, 0o600)
	if !errors.Is(err, os.ErrPermission) || p.dir.Chmod(p.name, 0o600) != nil {
		return f, err
	}
	return p.dir.OpenFile(p.name, os.O_RDWR, 0o600)
}

// checkOwn requires a regular file of this user with one name, if there is any: opening a
// FIFO would block for ever, another name may be that of a file outside, and another owner
// could change the file after its publication.
func (p *partial) checkOwn() error {
	info, err := p.dir.Info(p.name)
	if err == nil && (!info.IsRegular() || info.Links() != 1 || !info.IsOwn()) {
		return fmt.Errorf("%s is not an unfinished download", p.dir.Path(p.name))
	}
	return nil
}

// resume finds out which bytes are present, and hashes those before the first gap.
// It reads them all, because a power cut may have lost some.
func (p *partial) resume(ctx context.Context) (err error) {
	if p.validator, err = readValidator(p.dir, p.name+validatorSuffix); err != nil {
		return err
	}
	info, err := p.file.open().Stat()
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
	digest, err := verify.Reader(ctx, io.NewSectionReader(p.file, 0, p.layout.prefix()), p.algorithm)
	p.file.drop()
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
	err := p.file.track(v.save(p.dir, p.name+validatorSuffix))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isSaving = false
	return err
}

// remove removes an unfinished download, or whatever has its name, and its validator.
func (p *partial) remove() error {
	return errors.Join(p.dir.RemoveAll(p.name), p.dir.RemoveAll(p.name+validatorSuffix))
}
