package publisher

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"syncd/internal/downstream/bucket"
)

// storage reads and writes below a prefix of a bucket. It repeats requests after
// transient faults. Its methods are safe for concurrent use.
type storage struct {
	core           minio.Core
	credentials    *credentials.Credentials
	bucket, prefix string
	retry          Retry
	known          *known
}

// Retry is the exponential backoff after transient faults.
type Retry struct {
	InitialInterval time.Duration
	MaxInterval     time.Duration
	MaxElapsed      time.Duration // of one request
}

// info describes an object.
type info struct {
	size    int64
	etag    string
	sum     string    // SHA-256 in base64, of the parts' sums with their count if it went in parts; "" where the server keeps none
	written time.Time // by the server's clock
}

// isOther is true if an object of this size and sum is another than the one that is wanted.
// An object that went in parts is compared by its size alone.
func (i info) isOther(o object) bool {
	return i.size != o.size || i.sum != "" && !strings.Contains(i.sum, "-") && i.sum != base64.StdEncoding.EncodeToString(o.id[:])
}

// errNotThere says that the server has no object of this name.
var errNotThere = errors.New("not in the bucket")

// errChanged says that the condition of a write was not met: somebody else was faster, or
// the server has done an earlier attempt of this one and its answer was lost.
var errChanged = errors.New("it was changed meanwhile")

// do runs op until it succeeds or fails with an error that another attempt cannot change.
// A Retry-After is honoured if it fits into the budget.
func (s *storage) do(ctx context.Context, what string, op func(ctx context.Context) error) error {
	policy := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(s.retry.InitialInterval),
		backoff.WithMaxInterval(s.retry.MaxInterval),
		backoff.WithMaxElapsedTime(s.retry.MaxElapsed),
	)
	for {
		var got reply
		err := op(context.WithValue(ctx, replyKey{}, &got))
		if err == nil {
			return nil
		}
		wait := policy.NextBackOff()
		switch fault := classify(err); {
		case errors.Is(err, errLost):
			return errLost
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case fault != nil:
			return fmt.Errorf("%s: %w", what, fault)
		case wait == backoff.Stop || got.retryAfter > s.retry.MaxElapsed:
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := sleep(ctx, max(wait, got.retryAfter)); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// read passes the content of an object to use, from the start in each attempt.
func (s *storage) read(ctx context.Context, name string, use func(io.Reader) error) (found info, err error) {
	err = s.do(ctx, "read "+name, func(ctx context.Context) error {
		body, object, _, err := s.core.GetObject(ctx, s.bucket, s.prefix+name, minio.GetObjectOptions{})
		if err != nil {
			return err
		}
		defer body.Close()
		found = infoOf(object)
		return use(body)
	})
	return found, err
}

// text reads a small object.
func (s *storage) text(ctx context.Context, name string) (text []byte, found info, err error) {
	found, err = s.read(ctx, name, func(from io.Reader) (err error) {
		text, err = io.ReadAll(io.LimitReader(from, bucket.MaxText+1))
		return err
	})
	return text, found, err
}

// head describes an object; errNotThere for none.
func (s *storage) head(ctx context.Context, name string) (found info, err error) {
	err = s.do(ctx, "look for "+name, func(ctx context.Context) error {
		object, err := s.core.StatObject(ctx, s.bucket, s.prefix+name, minio.StatObjectOptions{Checksum: true})
		found = infoOf(object)
		return err
	})
	return found, err
}

func infoOf(o minio.ObjectInfo) info {
	return info{size: o.Size, etag: o.ETag, sum: o.ChecksumSHA256, written: o.LastModified}
}

// condition is what a write requires of the object that it replaces.
type condition struct {
	absent bool   // there is none
	etag   string // it has this ETag
}

// anything is the condition of a write that replaces all.
var anything = condition{}

func (c condition) options() minio.PutObjectOptions {
	opts := minio.PutObjectOptions{ContentType: "application/json", DisableContentSha256: true}
	switch {
	case c.absent:
		opts.SetMatchETagExcept("*")
	case c.etag != "":
		opts.SetMatchETag(c.etag)
	}
	return opts
}

// put writes a small text and returns its ETag.
func (s *storage) put(ctx context.Context, name string, text []byte, c condition) (etag string, err error) {
	sum := sha256.Sum256(text)
	err = s.do(ctx, "write "+name, func(ctx context.Context) error {
		done, err := s.core.PutObject(ctx, s.bucket, s.prefix+name, bytes.NewReader(text), int64(len(text)), "", hex.EncodeToString(sum[:]), c.options())
		etag = done.ETag
		return err
	})
	return etag, err
}

// putStream writes size bytes with a known SHA-256. open begins each attempt. The server
// refuses bytes with another sum, because the signature covers it.
func (s *storage) putStream(ctx context.Context, name string, size int64, sum [sha256.Size]byte, open func() (io.Reader, error)) error {
	opts := minio.PutObjectOptions{DisableContentSha256: true, UserMetadata: map[string]string{checksumHeader: base64.StdEncoding.EncodeToString(sum[:])}}
	return s.do(ctx, "write "+name, func(ctx context.Context) error {
		from, err := open()
		if err != nil {
			return &localError{err}
		}
		_, err = s.core.PutObject(ctx, s.bucket, s.prefix+name, from, size, "", hex.EncodeToString(sum[:]), opts)
		return err
	})
}

const checksumHeader = "X-Amz-Checksum-Sha256"

// remove deletes an object; one that is not there is no error.
func (s *storage) remove(ctx context.Context, name string) error {
	return s.do(ctx, "delete "+name, func(ctx context.Context) error {
		return s.core.RemoveObject(ctx, s.bucket, s.prefix+name, minio.RemoveObjectOptions{})
	})
}

// listed is an object of a list, which may be stale.
type listed struct {
	name string
	info
}

// list passes the objects below a folder to use.
func (s *storage) list(ctx context.Context, folder string, use func(listed)) error {
	return s.listAfter(ctx, folder, "", func(o listed) bool {
		use(o)
		return true
	})
}

// listAfter passes the objects below a folder and after a name to use, until it returns
// false.
func (s *storage) listAfter(ctx context.Context, folder, after string, use func(listed) bool) error {
	if after != "" {
		after = s.prefix + after
	}
	return s.do(ctx, "list "+folder, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for o := range s.core.Client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix + folder, Recursive: true, StartAfter: after}) {
			if o.Err != nil {
				return o.Err
			}
			after = o.Key
			if !use(listed{strings.TrimPrefix(o.Key, s.prefix), infoOf(o)}) {
				return nil
			}
		}
		return ctx.Err()
	})
}
