package publisher

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
	"os"
	"slices"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"syncd/internal/downstream/bucket"
)

// Sizes of uploads. S3 allows 10,000 parts of at least 5 MiB.
const (
	singleLimit  = 32 << 20 // a larger object goes in parts
	leastPart    = 16 << 20
	maxParts     = 10_000
	partsAtOnce  = 4
	maxRestarts  = 3
	checksumType = "X-Amz-Checksum-Algorithm"
)

// partSize depends on the object alone, so that another process can go on.
func partSize(size int64) int64 {
	return max(leastPart, (size/maxParts+1<<20)&^(1<<20-1))
}

// inParts uploads an object in parts. It continues an earlier attempt.
func (u *uploads) inParts(ctx context.Context, o object, file *os.File) error {
	sums, err := hashParts(ctx, file, o, partSize(o.size))
	if err != nil {
		return err
	}
	for range maxRestarts {
		err = u.attemptParts(ctx, o, file, sums)
		if !errors.Is(err, errNoUpload) {
			return err
		}
		// Another publisher may have completed it.
		if found, headErr := u.store.head(ctx, bucket.ObjectName(o.id)); headErr == nil && found.size == o.size {
			return nil
		}
	}
	return err
}

func (u *uploads) attemptParts(ctx context.Context, o object, file *os.File, sums [][sha256.Size]byte) error {
	up := &multipart{storage: u.store, name: bucket.ObjectName(o.id)}
	done, err := up.resume(ctx, len(sums))
	if err != nil {
		return err
	}
	size := partSize(o.size)
	parts := make([]minio.CompletePart, len(sums))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	for i, sum := range sums {
		from := int64(i) * size
		length := min(size, o.size-from)
		group.Go(func() error {
			if part, found := done[i+1]; found && isPart(part, length, sum, io.NewSectionReader(file, from, length)) {
				parts[i] = complete(part)
				return nil
			}
			return u.send(groupCtx, length, func() (err error) {
				parts[i], err = up.put(groupCtx, i+1, length, sum, func() io.Reader { return section(file, from, length) })
				return err
			})
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return up.complete(ctx, parts)
}

// isPart is true if a part in the bucket has the content that is wanted. Servers without
// checksums have the MD5 as ETag.
func isPart(p minio.ObjectPart, size int64, sum [sha256.Size]byte, content io.Reader) bool {
	if p.Size != size {
		return false
	}
	if p.ChecksumSHA256 != "" {
		return p.ChecksumSHA256 == base64.StdEncoding.EncodeToString(sum[:])
	}
	hasher := md5.New()
	_, err := io.Copy(hasher, content)
	return err == nil && p.ETag == hex.EncodeToString(hasher.Sum(nil))
}

func complete(p minio.ObjectPart) minio.CompletePart {
	return minio.CompletePart{PartNumber: p.PartNumber, ETag: p.ETag, ChecksumSHA256: p.ChecksumSHA256}
}

// multipart is one upload in parts.
type multipart struct {
	*storage
	name string
	id   string
}

// resume finds the latest unfinished upload of the object and its parts, or begins one.
func (m *multipart) resume(ctx context.Context, count int) (map[int]minio.ObjectPart, error) {
	key := m.prefix + m.name
	found, err := m.unfinished(ctx, m.name)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(u minio.ObjectMultipartInfo) bool { return u.Key != key })
	if len(found) > 0 {
		m.id = slices.MaxFunc(found, func(a, b minio.ObjectMultipartInfo) int {
			return cmp.Or(a.Initiated.Compare(b.Initiated), cmp.Compare(a.UploadID, b.UploadID))
		}).UploadID
		parts, err := m.parts(ctx, count)
		if !errors.Is(err, errNoUpload) {
			return parts, err
		}
	}
	return nil, m.do(ctx, "begin an upload of "+m.name, func(ctx context.Context) (err error) {
		opts := minio.PutObjectOptions{UserMetadata: map[string]string{checksumType: "SHA256"}}
		m.id, err = m.core.NewMultipartUpload(ctx, m.bucket, key, opts)
		return err
	})
}

// unfinished lists at most 1000 uploads in progress below a name.
func (s *storage) unfinished(ctx context.Context, name string) (found []minio.ObjectMultipartInfo, err error) {
	err = s.do(ctx, "list unfinished uploads of "+name, func(ctx context.Context) error {
		page, err := s.core.ListMultipartUploads(ctx, s.bucket, s.prefix+name, "", "", "", 1000)
		found = page.Uploads
		if hasNoUploads(err) {
			return nil
		}
		return err
	})
	return found, err
}

// maxETag is the longest ETag, and the longest checksum, that is believed, in bytes.
const maxETag = 256

// parts lists those of the object's parts that are there. The list of a server can go on
// for ever.
func (m *multipart) parts(ctx context.Context, count int) (map[int]minio.ObjectPart, error) {
	all := map[int]minio.ObjectPart{}
	for after := 0; ; {
		var page minio.ListObjectPartsResult
		err := m.do(ctx, "list the parts of "+m.name, func(ctx context.Context) (err error) {
			page, err = m.core.ListObjectParts(ctx, m.bucket, m.prefix+m.name, m.id, after, 1000)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, part := range page.ObjectParts {
			if part.PartNumber <= count && max(len(part.ETag), len(part.ChecksumSHA256)) <= maxETag {
				all[part.PartNumber] = minio.ObjectPart{PartNumber: part.PartNumber, Size: part.Size, ETag: part.ETag, ChecksumSHA256: part.ChecksumSHA256}
			}
		}
		if !page.IsTruncated || page.NextPartNumberMarker <= after || page.NextPartNumberMarker >= count {
			return all, nil
		}
		after = page.NextPartNumberMarker
	}
}

func (m *multipart) put(ctx context.Context, number int, size int64, sum [sha256.Size]byte, open func() io.Reader) (part minio.CompletePart, err error) {
	err = m.do(ctx, "write a part of "+m.name, func(ctx context.Context) error {
		done, err := m.core.PutObjectPart(ctx, m.bucket, m.prefix+m.name, m.id, number, open(), size, minio.PutObjectPartOptions{
			Sha256Hex: hex.EncodeToString(sum[:]), DisableContentSha256: true,
			CustomHeader: http.Header{checksumHeader: {base64.StdEncoding.EncodeToString(sum[:])}},
		})
		part = complete(done)
		return err
	})
	return part, err
}

func (m *multipart) complete(ctx context.Context, parts []minio.CompletePart) error {
	return m.do(ctx, "complete "+m.name, func(ctx context.Context) error {
		_, err := m.core.CompleteMultipartUpload(ctx, m.bucket, m.prefix+m.name, m.id, parts, minio.PutObjectOptions{})
		return err
	})
}
