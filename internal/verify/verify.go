// Package verify proves content: it computes digests while bytes pass by and
// compares them with what the provider's Hash endpoint promised. Bytes are
// unverified until a function of this package has said otherwise. Every content
// also gets its SHA-256, the name under which objects are stored.
package verify

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"

	"syncd/internal/manifest"
)

// Hasher computes a content's SHA-256 and, where the provider's algorithm is
// another one, that digest too. Write never fails. Not safe for concurrent use.
type Hasher struct {
	algorithm manifest.Algorithm
	name      hash.Hash // SHA-256
	promised  hash.Hash // the provider's algorithm; the same as name when that is SHA-256
	size      int64
}

// NewHasher returns a Hasher for content whose promised digest is of the given algorithm.
func NewHasher(algorithm manifest.Algorithm) *Hasher {
	h := &Hasher{algorithm: algorithm, name: sha256.New()}
	switch algorithm {
	case manifest.SHA1:
		h.promised = sha1.New()
	case manifest.MD5:
		h.promised = md5.New()
	default:
		h.promised = h.name
	}
	return h
}

func (h *Hasher) Write(p []byte) (int, error) {
	h.name.Write(p)
	if h.promised != h.name {
		h.promised.Write(p)
	}
	h.size += int64(len(p))
	return len(p), nil
}

// Size is how many bytes were written so far.
func (h *Hasher) Size() int64 { return h.size }

// Digest is the digest so far in the provider's algorithm.
func (h *Hasher) Digest() manifest.Digest {
	return manifest.Digest{Algorithm: h.algorithm, Hex: hex.EncodeToString(h.promised.Sum(nil))}
}

// Object is the name and size of what was written so far.
func (h *Hasher) Object() manifest.Object {
	return manifest.Object{SHA256: hex.EncodeToString(h.name.Sum(nil)), Size: h.size}
}

// Mismatch says that content is not what was promised.
type Mismatch struct{ Expected, Actual manifest.Digest }

func (e *Mismatch) Error() string {
	return fmt.Sprintf("digest %s does not match the promised %s", e.Actual, e.Expected)
}

// Check returns the object that was hashed, or *Mismatch when it is not the expected one.
func (h *Hasher) Check(expected manifest.Digest) (manifest.Object, error) {
	if actual := h.Digest(); actual != expected {
		return manifest.Object{}, &Mismatch{Expected: expected, Actual: actual}
	}
	return h.Object(), nil
}

// File is Files.Check of a single file.
func File(ctx context.Context, path string, expected manifest.Digest) (manifest.Object, error) {
	return unbounded.Check(ctx, path, expected)
}

// HashFile reads a whole file into a new Hasher.
func HashFile(ctx context.Context, path string, algorithm manifest.Algorithm) (*Hasher, error) {
	return unbounded.hash(ctx, path, algorithm)
}

// Reader reads r to its end into a new Hasher, or until the context ends.
func Reader(ctx context.Context, r io.Reader, algorithm manifest.Algorithm) (*Hasher, error) {
	return unbounded.read(ctx, r, algorithm)
}
