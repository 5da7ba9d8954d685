package objectstore

import (
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// Multipart is one upload in parts. Its methods are safe for concurrent use.
type Multipart struct {
	store    *Store
	name, id string
}

// Part is a part of an object in the bucket.
type Part struct {
	number int
	size   int64
	etag   string
	sum    string // SHA-256 in base64; "" where the server keeps none
}

// Is is true if the part has the content that is wanted. Servers without checksums have the
// MD5 as ETag.
func (p Part) Is(size int64, sum [sha256.Size]byte, content io.Reader) bool {
	if p.size != size {
		return false
	}
	if p.sum != "" {
		return p.sum == base64.StdEncoding.EncodeToString(sum[:])
	}
	hasher := md5.New()
	_, err := io.Copy(hasher, content)
	return err == nil && p.etag == hex.EncodeToString(hasher.Sum(nil))
}

func partOf(p minio.ObjectPart) Part { return Part{p.PartNumber, p.Size, p.ETag, p.ChecksumSHA256} }

const checksumType = "X-Amz-Checksum-Algorithm"

// Resume finds the latest unfinished upload of an object and those of its parts that are
// there, or begins one. The object has count parts.
func (s *Store) Resume(ctx context.Context, name string, count int) (*Multipart, map[int]Part, error) {
	m := &Multipart{store: s, name: name}
	found, err := s.Uploads(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	found = slices.DeleteFunc(found, func(u Upload) bool { return u.Name != name })
	if len(found) > 0 {
		m.id = slices.MaxFunc(found, func(a, b Upload) int {
			return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.id, b.id))
		}).id
		parts, err := m.parts(ctx, count)
		if !errors.Is(err, ErrNoUpload) {
			return m, parts, err
		}
	}
	return m, nil, s.do(ctx, "begin an upload of "+name, func(ctx context.Context) (err error) {
		opts := minio.PutObjectOptions{UserMetadata: map[string]string{checksumType: "SHA256"}}
		m.id, err = s.core.NewMultipartUpload(ctx, s.bucket, s.prefix+name, opts)
		return err
	})
}

// Upload is an upload in parts that has not ended.
type Upload struct {
	Began time.Time // by the server's clock
	Name  string    // of the object
	id    string
}

// Uploads lists at most 1000 uploads in progress below a name. Not every server looks at the
// prefix of such a list: uploads that do not lie below the store's are left out.
func (s *Store) Uploads(ctx context.Context, name string) (found []Upload, err error) {
	err = s.do(ctx, "list unfinished uploads of "+name, func(ctx context.Context) error {
		page, err := s.core.ListMultipartUploads(ctx, s.bucket, s.prefix+name, "", "", "", 1000)
		found = nil
		for _, u := range page.Uploads {
			if name, ok := strings.CutPrefix(u.Key, s.prefix); ok {
				found = append(found, Upload{u.Initiated, name, u.UploadID})
			}
		}
		if hasNoUploads(err) {
			return nil
		}
		return err
	})
	return found, err
}

// Abort ends an upload in progress and deletes its parts; ErrNoUpload if it has ended.
func (s *Store) Abort(ctx context.Context, u Upload) error {
	return s.do(ctx, "end an unfinished upload", func(ctx context.Context) error {
		return s.core.AbortMultipartUpload(ctx, s.bucket, s.prefix+u.Name, u.id)
	})
}

// maxETag is the longest ETag, and the longest checksum, that is believed, in bytes.
const maxETag = 256

// parts lists those of the object's parts that are there. The list of a server can go on
// for ever.
func (m *Multipart) parts(ctx context.Context, count int) (map[int]Part, error) {
	s, all := m.store, map[int]Part{}
	for after := 0; ; {
		var page minio.ListObjectPartsResult
		err := s.do(ctx, "list the parts of "+m.name, func(ctx context.Context) (err error) {
			page, err = s.core.ListObjectParts(ctx, s.bucket, s.prefix+m.name, m.id, after, 1000)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, part := range page.ObjectParts {
			if part.PartNumber <= count && max(len(part.ETag), len(part.ChecksumSHA256)) <= maxETag {
				all[part.PartNumber] = partOf(part)
			}
		}
		if !page.IsTruncated || page.NextPartNumberMarker <= after || page.NextPartNumberMarker >= count {
			return all, nil
		}
		after = page.NextPartNumberMarker
	}
}

// Put writes a part of size bytes with a known SHA-256. open begins each attempt.
// ErrNoUpload says that the upload has ended meanwhile.
func (m *Multipart) Put(ctx context.Context, number int, size int64, sum [sha256.Size]byte, open func() io.Reader) (part Part, err error) {
	s := m.store
	err = s.do(ctx, "write a part of "+m.name, func(ctx context.Context) error {
		done, err := s.core.PutObjectPart(ctx, s.bucket, s.prefix+m.name, m.id, number, open(), size, minio.PutObjectPartOptions{
			Sha256Hex: hex.EncodeToString(sum[:]), DisableContentSha256: true,
			CustomHeader: http.Header{checksumHeader: {base64.StdEncoding.EncodeToString(sum[:])}},
		})
		part = partOf(done)
		return err
	})
	return part, err
}

// Complete puts the object together from its parts, in their order.
func (m *Multipart) Complete(ctx context.Context, parts []Part) error {
	s := m.store
	all := make([]minio.CompletePart, len(parts))
	for i, p := range parts {
		all[i] = minio.CompletePart{PartNumber: p.number, ETag: p.etag, ChecksumSHA256: p.sum}
	}
	return s.do(ctx, "complete "+m.name, func(ctx context.Context) error {
		_, err := s.core.CompleteMultipartUpload(ctx, s.bucket, s.prefix+m.name, m.id, all, minio.PutObjectOptions{})
		return err
	})
}
