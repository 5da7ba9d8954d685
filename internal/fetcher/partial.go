package fetcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"syncd/internal/clients/transport"
	"syncd/internal/durable"
	"syncd/internal/manifest"
	"syncd/internal/refusal"
	"syncd/internal/verify"
)

// partial is an unfinished, unverified download. Its name is the digest that it
// should come to have, so that any later sync that wants the content finds it.
type partial struct {
	path      string
	file      *os.File
	hasher    *verify.Hasher // of every byte in the file
	algorithm manifest.Algorithm
	validator validator
	isOld     bool // it begins with bytes of an earlier call
	isUnsure  bool // the disk failed: nothing is known of the bytes
}

// Name is the name of the unfinished download of a content.
func Name(expected manifest.Digest) string {
	return strings.ReplaceAll(expected.String(), ":", "-")
}

// openPartial opens what an earlier call left, or a new file in place of
// something that cannot be used and would stop every later call too.
func openPartial(ctx context.Context, dir string, expected manifest.Digest) (*partial, error) {
	path := filepath.Join(dir, Name(expected))
	p, err := reopen(ctx, path, expected.Algorithm)
	if err == nil || ctx.Err() != nil || isShortage(err) {
		return p, err
	}
	if removeErr := remove(path); removeErr != nil {
		return nil, fmt.Errorf("%w: it cannot be removed: %w", err, removeErr)
	}
	return reopen(ctx, path, expected.Algorithm)
}

// isShortage is true when a file could not be opened through no fault of its own.
func isShortage(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// reopen opens the file at path, or a new one. The kept bytes are read once more,
// to hash them: a crash may have lost some.
func reopen(ctx context.Context, path string, algorithm manifest.Algorithm) (*partial, error) {
	f, err := openWritable(path)
	if err != nil {
		return nil, err
	}
	p := &partial{path: path, file: f, algorithm: algorithm, hasher: verify.NewHasher(algorithm)}
	if err := p.resume(ctx); err != nil {
		f.Close()
		return nil, err
	}
	return p, nil
}

// openWritable opens a partial file, also one that was about to become a
// read-only object when the last process was killed.
func openWritable(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path) // to read it could take for ever
	}
	f, err := durable.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if !errors.Is(err, os.ErrPermission) || durable.Chmod(path, 0o600) != nil {
		return f, err
	}
	return os.OpenFile(path, os.O_RDWR, 0o600)
}

func (p *partial) resume(ctx context.Context) (err error) {
	if p.validator, err = readValidator(p.path + validatorSuffix); err != nil {
		return err
	}
	// Without one the file cannot be continued, but it may be complete.
	if p.hasher, err = verify.HashFile(ctx, p.path, p.algorithm); err != nil {
		return err
	}
	p.isOld = p.size() > 0
	_, err = p.file.Seek(p.size(), io.SeekStart)
	return err
}

func (p *partial) size() int64 { return p.hasher.Size() }

// header asks for the bytes that are missing, plain: a compressed body could not
// be continued.
func (p *partial) header() http.Header {
	h := http.Header{"Accept-Encoding": {"identity"}}
	if p.size() > 0 && p.validator.Condition != "" {
		h.Set("Range", fmt.Sprintf("bytes=%d-", p.size()))
		h.Set("If-Range", p.validator.Condition)
	}
	return h
}

// begin brings the file to where the response's body starts.
func (p *partial) begin(res *transport.Response) error {
	if encoding := res.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return refusal.New(refusal.BadShape, "download with Content-Encoding %.32q, which was not asked for", encoding)
	}
	switch {
	case res.Status == http.StatusPartialContent && p.size() > 0:
		return p.checkContinues(res)
	case res.Status != http.StatusOK:
		return refusal.New(refusal.BadShape, "download answered with status %d", res.Status)
	}
	if p.size() > 0 {
		if err := p.restart(); err != nil {
			return err
		}
	}
	return p.remember(res)
}

// checkContinues starts clean, at the next attempt, when a 206 is not the
// continuation of what is here.
func (p *partial) checkContinues(res *transport.Response) error {
	got, err := p.validator.checkRest(p.size(), res)
	if err == nil {
		p.validator.Total = max(got.total, p.validator.Total)
		return nil
	}
	if restartErr := p.restart(); restartErr != nil {
		return restartErr
	}
	return &transport.Error{Kind: transport.Passing, Endpoint: "Download", Status: res.Status, Err: err}
}

// remember keeps the response's validator, on disk when the file is worth it.
func (p *partial) remember(res *transport.Response) error {
	p.validator = validatorOf(res)
	if p.validator.Condition == "" || res.Length >= 0 && res.Length < worthResuming {
		return nil
	}
	return p.note(p.validator.keep(p.path + validatorSuffix))
}

func (p *partial) write(b []byte) error {
	if _, err := p.file.Write(b); err != nil {
		return p.note(err)
	}
	_, err := p.hasher.Write(b)
	return err
}

// restart forgets every byte, and the validator of them.
func (p *partial) restart() error {
	p.validator, p.isOld = validator{}, false
	p.hasher = verify.NewHasher(p.algorithm)
	if err := p.removeValidator(); err != nil {
		return p.note(err)
	}
	if err := durable.Truncate(p.file, 0); err != nil {
		return p.note(err)
	}
	_, err := p.file.Seek(0, io.SeekStart)
	return p.note(err)
}

// finish makes the proven bytes read-only and durable.
func (p *partial) finish() error {
	if err := durable.Chmod(p.path, 0o444); err != nil {
		return p.note(err)
	}
	if err := durable.SyncFile(p.file); err != nil {
		return p.note(err)
	}
	return p.note(p.removeValidator())
}

// note passes on an error of the file itself. Bytes that the disk refused can
// still be read, from memory, and a second fsync may call them durable: the file
// must not be used again.
func (p *partial) note(err error) error {
	p.isUnsure = p.isUnsure || err != nil
	return err
}

func (p *partial) removeValidator() error { return durable.RemoveAll(p.path + validatorSuffix) }

// remove removes whatever is in the place of a partial file and its validator.
func remove(path string) error {
	return errors.Join(durable.RemoveAll(path), durable.RemoveAll(path+validatorSuffix))
}

func (p *partial) close() { p.file.Close() }

// Sweep removes the unfinished downloads in dir whose digest wanted does not hold.
func Sweep(dir string, wanted map[string]bool) error {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if name := strings.TrimSuffix(entry.Name(), validatorSuffix); !wanted[name] {
			err = errors.Join(err, durable.RemoveAll(filepath.Join(dir, entry.Name())))
		}
	}
	return err
}
