package believer

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
	"syncd/internal/store"
)

// line is a counting of generations of its own: a publisher's count, and when the bucket began.
// Numbers of two lines do not say which generation is older.
type line struct {
	count Count
	began int64
}

// maxLines bounds the lines that a belief keeps. Without one, published_at still decides.
const maxLines = 16

// mark stands before the beginning of a bucket. No ring has a slash in its name.
const mark = "@"

// key is where the belief has a ring of the line.
func (l line) key(ring string) string {
	if l.began == 0 {
		return string(l.count) + ring
	}
	return string(l.count) + mark + strconv.FormatInt(l.began, 10) + "/" + ring
}

// has is true for a key of the line.
func (l line) has(key string) bool { return lineOf(key) == l }

// lineOf is the line of a key.
func lineOf(key string) (l line) {
	if rest, isOfBucket := strings.CutPrefix(key, string(Bucket)); isOfBucket {
		key, l.count = rest, Bucket
	}
	began, _, isMarked := strings.Cut(key, "/")
	if began, found := strings.CutPrefix(began, mark); found && isMarked {
		l.began, _ = strconv.ParseInt(began, 10, 64)
	}
	return l
}

// lastLocked is the line of the generation that was believed last.
func (k *known) lastLocked() line {
	if k.belief.Count == bucket.CountBucket {
		return line{Bucket, k.belief.Began}
	}
	return line{Serving, k.belief.Began}
}

// checkLinesLocked refuses a generation of another line that was published before the last one
// that was believed: somebody gives an old bucket in the place of a new one. Between the counts
// of one upstream, the statement's date decides: see checkCountLocked.
func (b *Believer) checkLinesLocked(of line, g bucket.Generation) error {
	last, known := b.lastLocked(), b.belief
	switch {
	case known.Generation == 0 || of == last || of.count != last.count && b.views == 1:
		return nil
	case known.Published.IsZero(): // a state of before says of one line only what it counted
		return b.checkOrderLocked(last, g.Number)
	case g.PublishedAt.Before(known.Published):
		return rollback("it is signed, but of a bucket that shows what was published at %s, and generation %d, which was followed before, was published at %s", g.Number, g.PublishedAt.Format(time.RFC3339), known.Generation, known.Published.Format(time.RFC3339))
	}
	return nil
}

// isRecognisedLocked is true for a generation of another upstream that shows just what was
// believed last: a publisher that writes to several places counts in each for itself.
func (b *Believer) isRecognisedLocked(of line, g bucket.Generation) bool {
	return b.views > 1 && of != b.lastLocked() && b.belief.Content == contentOf(g)
}

// contentOf is the digest of what a generation shows and orders, whoever wrote it.
func contentOf(g bucket.Generation) manifest.ObjectID {
	type entry struct {
		Record string
		SHA256 manifest.ObjectID
		Held   bool
	}
	var entries []entry
	for _, m := range g.Manifests {
		entries = append(entries, entry{m.Record(), m.RecordSHA256, m.Held})
	}
	orders := maps.Clone(g.Destruction)
	for name, order := range orders {
		order.Publisher = ""
		orders[name] = order
	}
	text, _ := json.Marshal([]any{entries, orders, g.Ring}) // plain values
	return sha256.Sum256(text)
}

// forget drops the lines that were not seen for longest, but never the one that is believed.
func forget(rings map[string]store.Believed, last line) {
	lines := map[line]bool{}
	for key := range rings {
		lines[lineOf(key)] = true
	}
	delete(lines, last)
	delete(lines, line{Serving, 0})
	delete(lines, line{Bucket, 0})
	oldest := slices.SortedFunc(maps.Keys(lines), func(a, b line) int { return int(min(max(a.began-b.began, -1), 1)) })
	for _, l := range oldest[:max(len(oldest)-maxLines, 0)] {
		maps.DeleteFunc(rings, func(key string, _ store.Believed) bool { return l.has(key) })
	}
}
