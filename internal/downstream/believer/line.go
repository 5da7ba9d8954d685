package believer

import (
	"crypto/sha256"
	"encoding/hex"
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

// line is a counting of generations of its own: a publisher's count, when the bucket began and,
// for one of several sources, which of them gives it. Numbers of two lines do not say which
// generation is older.
type line struct {
	count Count
	began int64
	place string // "" for the only source
}

// lineLocked is the line of what this upstream gives.
func (b *Believer) lineLocked(count Count, began int64) line { return line{count, began, b.place} }

// At says which of several sources the upstream is. A publisher begins two places at the same
// moment, and counts in each for itself; so do two hosts that serve the same. It comes before the
// first judgement.
func (b *Believer) At(place string) {
	sum := sha256.Sum256([]byte(place))
	b.place = hex.EncodeToString(sum[:8])
}

// maxLines bounds the lines that a belief keeps. Without one, published_at still decides.
const maxLines = 16

// mark stands before the beginning of a bucket, and placed before the place, if there is one. No
// ring has a slash in its name.
const mark, placed = "@", "~"

// key is where the belief has a ring of the line.
func (l line) key(ring string) string {
	if l.began == 0 && l.place == "" {
		return string(l.count) + ring
	}
	key := string(l.count) + mark + strconv.FormatInt(l.began, 10)
	if l.place != "" {
		key += placed + l.place
	}
	return key + "/" + ring
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
		began, l.place, _ = strings.Cut(began, placed)
		l.began, _ = strconv.ParseInt(began, 10, 64)
	}
	return l
}

// lastLocked is the line of the generation that was believed last.
func (k *known) lastLocked() line {
	if k.belief.Count == bucket.CountBucket {
		return line{Bucket, k.belief.Began, k.belief.Place}
	}
	return line{Serving, k.belief.Began, k.belief.Place}
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
	maps.DeleteFunc(lines, func(l line, _ bool) bool { return l.began == 0 && l.place == "" })
	oldest := slices.SortedFunc(maps.Keys(lines), func(a, b line) int { return int(min(max(a.began-b.began, -1), 1)) })
	for _, l := range oldest[:max(len(oldest)-maxLines, 0)] {
		maps.DeleteFunc(rings, func(key string, _ store.Believed) bool { return l.has(key) })
	}
}
