package manifest

import (
	"encoding/hex"
	"strings"

	"syncd/internal/refusal"
)

// Algorithm is a hash type of the release service, as its paths spell it.
type Algorithm string

// The hash types of wire/releases.md.
const (
	SHA256 Algorithm = "SHA256"
	SHA1   Algorithm = "SHA1"
	MD5    Algorithm = "MD5"
)

var hexLength = map[Algorithm]int{SHA256: 64, SHA1: 40, MD5: 32}

// Digest is a hash of a file's content. The zero value means "not known".
type Digest struct {
	Algorithm Algorithm
	Hex       string // lower case
}

// ParseDigest reads a digest of the given type in hex of either case. A body
// with status 200 is no proof of one ("invalid…" has been seen), so anything
// else is refused as bad_shape.
func ParseDigest(algorithm Algorithm, text string) (Digest, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	if _, err := hex.DecodeString(text); err != nil || text == "" || len(text) != hexLength[algorithm] {
		return Digest{}, refusal.New(refusal.BadShape, "not a %s digest: %.40q", algorithm, text)
	}
	return Digest{Algorithm: algorithm, Hex: text}, nil
}

// ReadDigest reads what Digest.String writes.
func ReadDigest(text string) (Digest, error) {
	algorithm, hex, _ := strings.Cut(text, ":")
	return ParseDigest(Algorithm(strings.ToUpper(algorithm)), hex)
}

// String is `sha256:9f86…`, or "" for the zero value.
func (d Digest) String() string {
	if d.Hex == "" {
		return ""
	}
	return strings.ToLower(string(d.Algorithm)) + ":" + d.Hex
}
