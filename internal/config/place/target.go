package place

import (
	"fmt"
	"slices"
	"time"

	"syncd/internal/config/document"
	"syncd/internal/config/value"
)

// Target is a place that a publisher writes to.
type Target struct {
	S3
	Name  string        // of an entry of a list; "" for the only place
	Grace time.Duration // what no generation names is kept there for so long
}

// maxTargets bounds the places of one publisher.
const maxTargets = 16

// Targets is the setter of one target or of a list of them.
func Targets(to *[]Target, grace time.Duration) document.Setter {
	return func(d *document.Decoder, path string, n *document.Node) {
		switch {
		case n.Kind != document.ListKind:
			*to = []Target{{Grace: grace}}
			document.Keys((*to)[0].table(false))(d, path, n)
		case len(n.Items) > maxTargets:
			d.Fail(path, fmt.Sprintf("has more than %d places", maxTargets), "remove some")
		default:
			*to = make([]Target, len(n.Items))
			for i, item := range n.Items {
				t, at := &(*to)[i], document.Index(path, i)
				t.Grace = grace
				d.SetPosition(at, item.At)
				if item.Kind != document.MappingKind {
					d.Fail(at, "must be a mapping", "write {name: NAME, endpoint: URL, bucket: BUCKET}")
					continue
				}
				d.Mapping(at, item, t.table(true))
				if t.Name == "" {
					t.Name = t.Bucket
				}
			}
		}
	}
}

func (t *Target) table(isListed bool) document.Table {
	table := t.S3.Table()
	table["grace"] = document.Scalar(&t.Grace, parseGrace)
	if isListed {
		table["name"] = document.Scalar(&t.Name, value.Name)
	}
	return table
}

// CheckTargets checks how the values of targets relate. isFollowed is true for the place that
// this host follows.
func CheckTargets(d *document.Decoder, targets []Target, insecure bool, isFollowed func(S3) bool) {
	for i, t := range targets {
		at := "publish.s3"
		if listed := document.Index(at, i); d.IsSet(listed) {
			at = listed
		}
		Check(d, at, t.S3, insecure)
		if !t.IsSet() {
			continue
		}
		if isFollowed(t.S3) {
			d.Fail(at, "is the place that source.s3 follows", "remove one of them, or use another prefix")
		}
		same := func(f func(Target) string) bool {
			return slices.ContainsFunc(targets[:i], func(other Target) bool { return other.IsSet() && f(other) == f(t) })
		}
		switch {
		case same(func(t Target) string { return t.URL().String() }):
			d.Fail(at, "is the place of an entry above", "remove it, or use another prefix")
		case same(func(t Target) string { return t.Name }):
			d.Fail(at, "has the name of an entry above", "give each entry a name of its own")
		}
	}
}

// minGrace is longer than a follower needs between its poll and its downloads.
const minGrace = time.Hour

func parseGrace(text string) (time.Duration, *document.Fault) {
	grace, f := value.LongDuration(text)
	if f == nil && grace < minGrace {
		return 0, value.RefuseNumber(text, "is under an hour", "followers must be able to finish their downloads: use a form such as 72h or 3d")
	}
	return grace, f
}
