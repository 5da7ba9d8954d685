package document

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	plainKey = regexp.MustCompile(`^[a-z][a-z_]{0,31}$`)
	nearKey  = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,40}$`)
)

// unknown is the problem of a key that is not in the table. A secret may stand in the
// key's place by mistake, so the key is shown only when it looks like a key of syncd.
func (d *Decoder) unknown(path string, f Field, t Table) *Error {
	p := Place{Key: path, at: f.At}
	valid := slices.Sorted(maps.Keys(t))
	near := nearest(f.Key, valid)
	if plainKey.MatchString(f.Key) || near != "" && nearKey.MatchString(f.Key) {
		p.Key = below(path, f.Key)
	}
	if near != "" {
		return p.Error(d.File, "unknown key", fmt.Sprintf("did you mean %q?", near))
	}
	return p.Error(d.File, "unknown key", "the keys here are "+strings.Join(valid, ", "))
}

// nearest returns the known key that differs by a typing error, or "".
func nearest(key string, known []string) string {
	const longest = 40 // all keys are shorter, and distance takes quadratic time
	if len(key) > longest {
		return ""
	}
	key = strings.ReplaceAll(strings.ToLower(key), "-", "_")
	best, least := "", 3
	for _, candidate := range known {
		if n := distance(key, candidate); n < least && n <= max(1, len(candidate)/3) {
			best, least = candidate, n
		}
	}
	return best
}

// distance returns the Levenshtein distance of two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
