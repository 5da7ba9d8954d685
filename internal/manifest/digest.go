package manifest

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"syncd/internal/manifest/refusal"
)

// Algorithm is a hash type of the release service. The zero value is none.
type Algorithm uint8

// The hash types that the Hash endpoint knows.
const (
	SHA256 Algorithm = iota + 1
	SHA1
	MD5
)

// algorithms are the names, in both cases, and the lengths of sums, in bytes.
var algorithms = [...]struct {
	name, prefix string
	size         int
}{SHA256: {"SHA256", "sha256", sha256.Size}, SHA1: {"SHA1", "sha1", sha1.Size}, MD5: {"MD5", "md5", md5.Size}}

// ParseAlgorithm reads a name in any case. The result is zero for any other text.
func ParseAlgorithm(name string) Algorithm {
	for a := SHA256; a <= MD5; a++ {
		if strings.EqualFold(name, a.String()) {
			return a
		}
	}
	return 0
}

// String is the name as the paths of the service spell it.
func (a Algorithm) String() string { return algorithms[a].name }

// Digest is a hash of a file's content. The zero value means "not known". It has no
// pointers, so that the garbage collector need not look at the many in memory.
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
	if size := algorithms[algorithm].size; size > 0 && len(text) == hex.EncodedLen(size) {
		if _, err := hex.Decode(d.Sum[:], []byte(text)); err == nil {
			return d, nil
		}
	}
	return Digest{}, refusal.New(refusal.BadShape, "not a %s digest: %.40q", algorithm, text)
}

func parseText(text string) (Digest, error) {
	algorithm, hex, _ := strings.Cut(text, ":")
	return ParseDigest(ParseAlgorithm(algorithm), hex)
}

// IsOfNothing is true for the digest of no bytes.
func (d Digest) IsOfNothing() bool {
	var nothing []byte
	switch d.Algorithm {
	case SHA256:
		return d.Sum == sha256.Sum256(nothing)
	case SHA1:
		sum := sha1.Sum(nothing)
		return bytes.Equal(d.Sum[:sha1.Size], sum[:])
	case MD5:
		sum := md5.Sum(nothing)
		return bytes.Equal(d.Sum[:md5.Size], sum[:])
	}
	return false
}

// IsZero is true for the zero value: the digest is not known.
func (d Digest) IsZero() bool { return d == Digest{} }

// Hex is the sum in lower-case hex.
func (d Digest) Hex() string { return hex.EncodeToString(d.Sum[:algorithms[d.Algorithm].size]) }

// String is `sha256:9f86…`, or "" for the zero value.
func (d Digest) String() string {
	return string(d.AppendTo(make([]byte, 0, len("sha256:")+hex.EncodedLen(sha256.Size))))
}

// AppendTo appends what String returns.
func (d *Digest) AppendTo(text []byte) []byte {
	if d.IsZero() {
		return text
	}
	a := algorithms[d.Algorithm]
	return hex.AppendEncode(append(append(text, a.prefix...), ':'), d.Sum[:a.size])
}

// rank orders digests of different algorithms as their texts, the zero value first.
func (d *Digest) rank() int {
	if d.Algorithm == 0 {
		return 0
	}
	return int(MD5 + 1 - d.Algorithm) // md5, sha1, sha256
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
func (d Digest) MarshalText() ([]byte, error) { return d.AppendTo([]byte{}), nil }

// UnmarshalText reads the digest as parseText does. Any other text, such as one
// with an algorithm of a later version, becomes the zero value: not known.
func (d *Digest) UnmarshalText(text []byte) error {
	*d, _ = parseText(string(text)) // the zero value after an error
	return nil
}
