package manifest

import (
	"cmp"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"syncd/internal/manifest/refusal"
)

// maxSegment is the longest file name in bytes that every supported file system
// allows.
const maxSegment = 255

// CheckSegment refuses everything that is not one plain path segment. Names come
// from the provider and become paths on disk, lines of SHA256SUMS and text on
// terminals; a refused character would have a special meaning in one of these.
func CheckSegment(s string) error {
	switch {
	case s == "":
		return refusal.New(refusal.BadName, "empty path segment")
	case s == "." || s == "..":
		return refusal.New(refusal.BadName, "path segment %q", s)
	case len(s) > maxSegment:
		return refusal.New(refusal.BadName, "path segment of %d bytes, at most %d are allowed: %q…", len(s), maxSegment, s[:32])
	case !utf8.ValidString(s):
		return refusal.New(refusal.BadName, "path segment is not valid UTF-8: %q", s)
	case strings.ContainsAny(s, `/\`):
		return refusal.New(refusal.BadName, "slash or backslash in path segment %q", s)
	case strings.ContainsFunc(s, unicode.IsControl):
		return refusal.New(refusal.BadName, "control character in path segment %q", s)
	}
	return nil
}

// decodeSegments percent-decodes each segment once and checks what comes out.
func decodeSegments(path string) ([]string, error) {
	segments := strings.Split(path, "/")
	for i, raw := range segments {
		segment, err := url.PathUnescape(raw)
		if err != nil {
			return nil, refusal.New(refusal.BadName, "bad percent-encoding in path segment %.64q", raw)
		}
		if err := CheckSegment(segment); err != nil {
			return nil, err
		}
		segments[i] = segment
	}
	return segments, nil
}

// foldCase maps names that are equal on a case-insensitive file system to one key.
func foldCase(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, s)
}

// compareFolded compares foldCase of two texts, without memory for them if they are ASCII.
func compareFolded(a, b string) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x >= utf8.RuneSelf || y >= utf8.RuneSelf {
			return strings.Compare(foldCase(a[i:]), foldCase(b[i:]))
		}
		if x != y && upper(x) != upper(y) {
			return cmp.Compare(upper(x), upper(y))
		}
	}
	return cmp.Compare(len(a), len(b))
}

// upper is foldCase of an ASCII letter.
func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}
