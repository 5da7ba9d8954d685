package fetcher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"syncd/internal/clients/transport"
	"syncd/internal/manifest"
	"syncd/internal/refusal"
	"syncd/internal/verify"
)

// worthResuming is the size from which a partial file remembers its validator; a
// smaller one is fetched again faster than it is looked after.
const worthResuming = 1 << 20

// maxValidator is longer than any honest one; a long one sent back would be
// refused for the size of the request's headers.
const maxValidator = 1 << 10

// validatorSuffix names the file beside a partial one that holds its validator.
const validatorSuffix = ".validator"

// partial is an unfinished, unverified download. Its name is the digest that it
// should come to have, so that any later sync that wants the content finds it.
type partial struct {
	path      string
	file      *os.File
	hasher    *verify.Hasher // of every byte in the file
	algorithm manifest.Algorithm
	validator string // what If-Range needs to continue; "" when the file cannot be continued
}

// Name is the name of the unfinished download of a content.
func Name(expected manifest.Digest) string {
	return strings.ReplaceAll(expected.String(), ":", "-")
}

// openPartial opens what an earlier call left, or a new file. The kept bytes are
// read once more, to hash them: a crash may have lost some.
func openPartial(ctx context.Context, dir string, expected manifest.Digest) (*partial, error) {
	p := &partial{path: filepath.Join(dir, Name(expected)), algorithm: expected.Algorithm, hasher: verify.NewHasher(expected.Algorithm)}
	f, err := openWritable(p.path)
	if err != nil {
		return nil, err
	}
	p.file = f
	if err := p.resume(ctx); err != nil {
		f.Close()
		return nil, err
	}
	return p, nil
}

// openWritable opens a partial file, also one that was about to become a
// read-only object when the last process was killed.
func openWritable(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if !errors.Is(err, os.ErrPermission) || os.Chmod(path, 0o600) != nil {
		return f, err
	}
	return os.OpenFile(path, os.O_RDWR, 0o600)
}

func (p *partial) resume(ctx context.Context) error {
	info, err := p.file.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	p.validator = p.readValidator()
	// Without one the file cannot be continued, but it may be complete.
	if p.hasher, err = verify.HashFile(ctx, p.path, p.algorithm); err != nil {
		return err
	}
	_, err = p.file.Seek(p.hasher.Size(), io.SeekStart)
	return err
}

func (p *partial) readValidator() string {
	data, err := os.ReadFile(p.path + validatorSuffix)
	var validator string
	if err != nil || json.Unmarshal(data, &validator) != nil {
		return "" // without it the download starts again, which is always right
	}
	return validator
}

func (p *partial) size() int64 { return p.hasher.Size() }

// header asks for the bytes that are missing, plain: a compressed body could not
// be continued.
func (p *partial) header() http.Header {
	h := http.Header{"Accept-Encoding": {"identity"}}
	if p.size() > 0 && p.validator != "" {
		h.Set("Range", fmt.Sprintf("bytes=%d-", p.size()))
		h.Set("If-Range", p.validator)
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
	start, total, err := contentRange(res.Header)
	if err == nil && start == p.size() && (total < 0 || res.Length < 0 || total == start+res.Length) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("asked for bytes from %d, got them from %d of %d", p.size(), start, total)
	}
	if restartErr := p.restart(); restartErr != nil {
		return restartErr
	}
	return &transport.Error{Kind: transport.Passing, Endpoint: "Download", Status: res.Status, Err: err}
}

// remember keeps the response's validator, on disk when the file is worth it.
func (p *partial) remember(res *transport.Response) error {
	p.validator = res.Header.Get("ETag")
	if strings.HasPrefix(p.validator, "W/") || p.validator == "" {
		p.validator = res.Header.Get("Last-Modified")
	}
	if len(p.validator) > maxValidator {
		p.validator = ""
	}
	if p.validator == "" || res.Length >= 0 && res.Length < worthResuming {
		return nil
	}
	data, err := json.Marshal(p.validator)
	if err != nil {
		return err
	}
	return os.WriteFile(p.path+validatorSuffix, data, 0o600)
}

func (p *partial) write(b []byte) error {
	if _, err := p.file.Write(b); err != nil {
		return err
	}
	_, err := p.hasher.Write(b)
	return err
}

// restart forgets every byte, and the validator of them.
func (p *partial) restart() error {
	p.validator = ""
	p.hasher = verify.NewHasher(p.algorithm)
	if err := p.removeValidator(); err != nil {
		return err
	}
	if err := p.file.Truncate(0); err != nil {
		return err
	}
	_, err := p.file.Seek(0, io.SeekStart)
	return err
}

// finish makes the proven bytes read-only and durable.
func (p *partial) finish() error {
	if err := p.file.Chmod(0o444); err != nil {
		return err
	}
	if err := p.file.Sync(); err != nil {
		return err
	}
	return p.removeValidator()
}

func (p *partial) removeValidator() error {
	if err := os.Remove(p.path + validatorSuffix); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (p *partial) remove() {
	os.Remove(p.path)
	os.Remove(p.path + validatorSuffix)
}

func (p *partial) close() { p.file.Close() }

// Sweep removes the unfinished downloads in dir whose digest wanted does not hold.
func Sweep(dir string, wanted map[string]bool) error {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if name := strings.TrimSuffix(entry.Name(), validatorSuffix); !wanted[name] {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, entry.Name())))
		}
	}
	return err
}
