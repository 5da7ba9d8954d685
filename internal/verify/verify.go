package verify

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
)

// Hasher computes a content's SHA-256 and, where the provider's algorithm is
// another one, that digest too. Write never fails. Not safe for concurrent use.
type Hasher struct {
	algorithm manifest.Algorithm
	sha256    hash.Hash
	expected  hash.Hash // the provider's algorithm; the same as sha256 when that is SHA-256
	size      int64
}

// NewHasher returns a Hasher for content whose expected digest is of the given algorithm.
func NewHasher(algorithm manifest.Algorithm) *Hasher {
	h := &Hasher{algorithm: algorithm, sha256: sha256.New()}
	switch algorithm {
	case manifest.SHA1:
		h.expected = sha1.New()
	case manifest.MD5:
		h.expected = md5.New()
	default:
		h.expected = h.sha256
	}
	return h
}

func (h *Hasher) Write(p []byte) (int, error) {
	h.sha256.Write(p)
	if h.expected != h.sha256 {
		h.expected.Write(p)
	}
	h.size += int64(len(p))
	return len(p), nil
}

// Size is the number of bytes written so far.
func (h *Hasher) Size() int64 { return h.size }

// Digest is the digest so far in the provider's algorithm.
func (h *Hasher) Digest() manifest.Digest {
	d := manifest.Digest{Algorithm: h.algorithm}
	h.expected.Sum(d.Sum[:0])
	return d
}

// Object is the name and size of what was written so far.
func (h *Hasher) Object() manifest.Object {
	object := manifest.Object{Size: h.size}
	h.sha256.Sum(object.ID[:0])
	return object
}

// Mismatch says that content has another digest than the expected one.
type Mismatch struct{ Expected, Actual manifest.Digest }

func (e *Mismatch) Error() string {
	return fmt.Sprintf("digest %s does not match the expected %s", e.Actual, e.Expected)
}

// Check returns the hashed object, or *Mismatch when it has another digest.
func (h *Hasher) Check(expected manifest.Digest) (manifest.Object, error) {
	if actual := h.Digest(); actual != expected {
		return manifest.Object{}, &Mismatch{Expected: expected, Actual: actual}
	}
	return h.Object(), nil
}

// File reads a file below dir and compares it with an expected digest, see Files.Check.
func File(ctx context.Context, dir *fsops.Dir, name string, expected manifest.Digest) (manifest.Object, error) {
	return unlimited.Check(ctx, dir, name, expected)
}

// HashFile reads a whole file into a new Hasher.
func HashFile(ctx context.Context, dir *fsops.Dir, name string, algorithm manifest.Algorithm) (*Hasher, error) {
	return unlimited.hash(ctx, dir, name, algorithm)
}

// Reader reads r to its end into a new Hasher, or until the context ends.
func Reader(ctx context.Context, r io.Reader, algorithm manifest.Algorithm) (*Hasher, error) {
	return unlimited.read(ctx, r, algorithm)
}
