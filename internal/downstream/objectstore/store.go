package objectstore

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
)

// Store reads and writes below a prefix of a bucket. It repeats requests after
// transient faults. Its methods are safe for concurrent use.
type Store struct {
	core           minio.Core
	credentials    *credentials.Credentials
	bucket, prefix string
	retry          Retry
	tell           func(Trouble) // nil if nobody wants to know
	server         *Server
}

// Trouble is a request that failed and is sent again.
type Trouble struct {
	Err     error // of the last attempt; nil once an attempt succeeded or none follows
	Attempt int   // that failed
	Since   time.Time
	Next    time.Time // when the next attempt begins
}

// Retry is the exponential backoff after transient faults.
type Retry struct {
	InitialInterval time.Duration
	MaxInterval     time.Duration
	MaxElapsed      time.Duration // of one request
}

// Info describes an object.
type Info struct {
	Size    int64
	ETag    string
	Sum     string    // SHA-256 in base64, of the parts' sums with their count if it went in parts; "" where the server keeps none
	Written time.Time // by the server's clock
}

// IsOther is true if an object of this size and sum is another than the one that is wanted.
// An object that went in parts is compared by its size alone.
func (i Info) IsOther(size int64, sum [sha256.Size]byte) bool {
	return i.Size != size || i.Sum != "" && !strings.Contains(i.Sum, "-") && i.Sum != base64.StdEncoding.EncodeToString(sum[:])
}

// ErrNotThere says that the server has no object of this name.
var ErrNotThere = errors.New("not in the bucket")

// ErrChanged says that the condition of a write was not met: somebody else was faster, or
// the server has done an earlier attempt of this one and its answer was lost.
var ErrChanged = errors.New("it was changed meanwhile")

// do runs op until it succeeds or fails with an error that another attempt cannot change.
// A Retry-After is honoured if it fits into the budget.
func (s *Store) do(ctx context.Context, what string, op func(ctx context.Context) error) error {
	policy := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(s.retry.InitialInterval),
		backoff.WithMaxInterval(s.retry.MaxInterval),
		backoff.WithMaxElapsedTime(s.retry.MaxElapsed),
	)
	began := time.Now()
	for attempt := 1; ; attempt++ {
		var got reply
		err := op(context.WithValue(ctx, replyKey{}, &got))
		if err == nil {
			return nil
		}
		wait := policy.NextBackOff()
		var refused *refusedError
		switch fault := classify(err); {
		case errors.As(err, &refused):
			return refused.err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case fault != nil:
			return fmt.Errorf("%s: %w", what, fault)
		case wait == backoff.Stop || got.retryAfter > s.retry.MaxElapsed:
			return fmt.Errorf("%s: %w", what, err)
		}
		wait = max(wait, got.retryAfter)
		if s.tell != nil {
			if attempt == 1 {
				defer s.tell(Trouble{})
			}
			s.tell(Trouble{Err: fmt.Errorf("%s: %w", what, err), Attempt: attempt, Since: began, Next: time.Now().Add(wait)})
		}
		if err := sleep(ctx, wait); err != nil {
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

// Read passes the content of an object to use, from the start in each attempt.
func (s *Store) Read(ctx context.Context, name string, use func(io.Reader) error) (found Info, err error) {
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

// Text reads a small object. Of one that is longer than most it returns the first bytes, one
// more than most.
func (s *Store) Text(ctx context.Context, name string, most int64) (text []byte, found Info, err error) {
	found, err = s.Read(ctx, name, func(from io.Reader) (err error) {
		text, err = io.ReadAll(io.LimitReader(from, most+1))
		return err
	})
	return text, found, err
}

// Head describes an object; ErrNotThere for none.
func (s *Store) Head(ctx context.Context, name string) (found Info, err error) {
	err = s.do(ctx, "look for "+name, func(ctx context.Context) error {
		object, err := s.core.StatObject(ctx, s.bucket, s.prefix+name, minio.StatObjectOptions{Checksum: true})
		found = infoOf(object)
		return err
	})
	return found, err
}

func infoOf(o minio.ObjectInfo) Info {
	return Info{Size: o.Size, ETag: o.ETag, Sum: o.ChecksumSHA256, Written: o.LastModified}
}

// Condition is what a write requires of the object that it replaces.
type Condition struct {
	Absent bool   // there is none
	ETag   string // it has this ETag
}

// Anything is the condition of a write that replaces all.
var Anything = Condition{}

func (c Condition) options() minio.PutObjectOptions {
	opts := minio.PutObjectOptions{ContentType: "application/json", DisableContentSha256: true}
	switch {
	case c.Absent:
		opts.SetMatchETagExcept("*")
	case c.ETag != "":
		opts.SetMatchETag(c.ETag)
	}
	return opts
}

// Put writes a small text and returns its ETag.
func (s *Store) Put(ctx context.Context, name string, text []byte, c Condition) (etag string, err error) {
	sum := sha256.Sum256(text)
	err = s.do(ctx, "write "+name, func(ctx context.Context) error {
		done, err := s.core.PutObject(ctx, s.bucket, s.prefix+name, bytes.NewReader(text), int64(len(text)), "", hex.EncodeToString(sum[:]), c.options())
		etag = done.ETag
		return err
	})
	return etag, err
}

// PutStream writes size bytes with a known SHA-256. open begins each attempt. The server
// refuses bytes with another sum, because the signature covers it.
func (s *Store) PutStream(ctx context.Context, name string, size int64, sum [sha256.Size]byte, open func() (io.Reader, error)) error {
	opts := minio.PutObjectOptions{DisableContentSha256: true, UserMetadata: map[string]string{checksumHeader: base64.StdEncoding.EncodeToString(sum[:])}}
	return s.do(ctx, "write "+name, func(ctx context.Context) error {
		from, err := open()
		if err != nil {
			return &LocalError{err}
		}
		_, err = s.core.PutObject(ctx, s.bucket, s.prefix+name, from, size, "", hex.EncodeToString(sum[:]), opts)
		return err
	})
}

const checksumHeader = "X-Amz-Checksum-Sha256"

// Remove deletes an object; one that is not there is no error.
func (s *Store) Remove(ctx context.Context, name string) error {
	return s.do(ctx, "delete "+name, func(ctx context.Context) error {
		return s.core.RemoveObject(ctx, s.bucket, s.prefix+name, minio.RemoveObjectOptions{})
	})
}

// KeepsVersions is true if the bucket keeps what is deleted or replaced. A server that does
// not say counts as one that does not: the question needs a right of its own.
func (s *Store) KeepsVersions(ctx context.Context) (keeps bool) {
	_ = s.do(ctx, "ask for the versioning", func(ctx context.Context) error {
		found, err := s.core.GetBucketVersioning(ctx, s.bucket)
		keeps = err == nil && found.Status != ""
		return nil
	})
	return keeps
}

// Listed is an object of a list, which may be stale.
type Listed struct {
	Name string
	Info
}

// List passes the objects below a folder to use.
func (s *Store) List(ctx context.Context, folder string, use func(Listed)) error {
	return s.ListAfter(ctx, folder, "", func(o Listed) bool {
		use(o)
		return true
	})
}

// ListAfter passes the objects below a folder and after a name to use, until it returns
// false.
func (s *Store) ListAfter(ctx context.Context, folder, after string, use func(Listed) bool) error {
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
			if !use(Listed{strings.TrimPrefix(o.Key, s.prefix), infoOf(o)}) {
				return nil
			}
		}
		return ctx.Err()
	})
}
