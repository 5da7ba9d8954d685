package manifest

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"syncd/internal/refusal"
)

// Algorithm is a hash type of the release service, as its paths spell it.
type Algorithm string

// The hash types that the Hash endpoint knows.
const (
	SHA256 Algorithm = "SHA256"
	SHA1   Algorithm = "SHA1"
	MD5    Algorithm = "MD5"
)

// sumSize is the length of each algorithm's sum in bytes.
var sumSize = map[Algorithm]int{SHA256: sha256.Size, SHA1: sha1.Size, MD5: md5.Size}

// Digest is a hash of a file's content. The zero value means "not known".
type Digest struct {
	Algorithm Algorithm
	Sum       [sha256.Size]byte // a shorter sum is followed by zeros
}

// ParseDigest reads a digest of the given type in hex of either case. It refuses
// anything else as bad_shape, because the service has been seen to answer with
// status 200 and an error in words.
func ParseDigest(algorithm Algorithm, text string) (Digest, error) {
	text = strings.TrimSpace(text)
	d := Digest{Algorithm: algorithm}
	if size := sumSize[algorithm]; size > 0 && len(text) == hex.EncodedLen(size) {
		if _, err := hex.Decode(d.Sum[:], []byte(text)); err == nil {
			return d, nil
		}
	}
	return Digest{}, refusal.New(refusal.BadShape, "not a %s digest: %.40q", algorithm, text)
}

// parseText reads what Digest.String writes.
func parseText(text string) (Digest, error) {
	algorithm, hex, _ := strings.Cut(text, ":")
	return ParseDigest(Algorithm(strings.ToUpper(algorithm)), hex)
}

// IsZero is true for the zero value: the digest is not known.
func (d Digest) IsZero() bool { return d == Digest{} }

// Hex is the sum in lower-case hex.
func (d Digest) Hex() string { return hex.EncodeToString(d.Sum[:sumSize[d.Algorithm]]) }

// String is `sha256:9f86…`, or "" for the zero value.
func (d Digest) String() string {
	if d.IsZero() {
		return ""
	}
	return strings.ToLower(string(d.Algorithm)) + ":" + d.Hex()
}

// ObjectID returns the object with this digest; ok is false when the digest is not a
// SHA-256.
func (d Digest) ObjectID() (id ObjectID, ok bool) {
	if d.Algorithm != SHA256 {
		return ObjectID{}, false
	}
	return d.Sum, true
}

// MarshalText writes the digest as String does.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the digest as parseText does. Any other text, such as one
// with an algorithm of a later version, becomes the zero value: not known.
func (d *Digest) UnmarshalText(text []byte) error {
	*d, _ = parseText(string(text)) // the zero value after an error
	return nil
}
