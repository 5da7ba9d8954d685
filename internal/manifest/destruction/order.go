package destruction

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"syncd/internal/manifest"
)

// Limits of an Order that another host wrote.
const (
	MaxGone    = 256
	maxSeconds = 100 * 365 * 24 * 60 * 60
	maxHeader  = 8 << 10
	maxTold    = 64 // revisions that a header names: proxies allow some KiB
)

// Order is what a publisher says about one manifest. The zero value orders nothing.
type Order struct {
	// Seconds is how long after it was last served a revision must be destroyed; 0 for never.
	Seconds int64 `json:"destroy_after,omitempty"`
	// Publisher is the one of several whose time it is; "" for the one that passes it on.
	Publisher string `json:"publisher,omitempty"`
	// Gone are the newest revisions that the publisher destroyed.
	Gone []Gone `json:"destroyed,omitempty"`
}

// Gone is a revision that a publisher destroyed.
type Gone struct {
	Release  manifest.Release `json:"release"`
	Revision string           `json:"revision,omitempty"` // "" for every revision of the release
	At       time.Time        `json:"at,omitzero"`        // by the publisher's clock
}

// Told is an Order with the upstream that gave it.
type Told struct {
	Source string `json:"source"` // base URL, as the records of revisions have it
	Order
}

// Disk is the Source of what a bundle ordered.
const Disk = "bundle://disk/"

// After is Seconds as a duration.
func (o Order) After() time.Duration { return time.Duration(o.Seconds) * time.Second }

// SecondsOf is a duration as an Order has it. A part of a second counts as a whole one.
func SecondsOf(after time.Duration) int64 {
	return int64((max(after, 0) + time.Second - 1) / time.Second)
}

// IsZero is true for an Order that orders nothing.
func (o Order) IsZero() bool { return o.Seconds == 0 && len(o.Gone) == 0 }

// Equal is true for the same Order, whichever publisher gave it.
func (o Order) Equal(other Order) bool {
	return o.Seconds == other.Seconds && slices.EqualFunc(o.Gone, other.Gone, func(a, b Gone) bool {
		return a.Release == b.Release && a.Revision == b.Revision && a.At.Equal(b.At)
	})
}

// Names is true for a revision that the publisher destroyed.
func (o Order) Names(release manifest.Release, revision string) bool {
	return slices.ContainsFunc(o.Gone, func(g Gone) bool { return g.Is(release, revision) })
}

// Is is true for a revision that g stands for.
func (g Gone) Is(release manifest.Release, revision string) bool {
	return g.Release == release && (g.Revision == "" || g.Revision == revision)
}

// ID names what is gone, as Header and the ids of revisions do.
func (g Gone) ID() string {
	if g.Revision == "" {
		return string(g.Release)
	}
	return string(g.Release) + "-" + g.Revision
}

// revisionForm is the form of manifest.RevisionID.
var revisionForm = regexp.MustCompile(`^[0-9a-f]{12}$`)

// Check refuses an Order that no publisher writes.
func (o Order) Check() error {
	if o.Seconds < 0 || o.Seconds > maxSeconds {
		return fmt.Errorf("destroy_after is %d seconds", o.Seconds)
	}
	if len(o.Gone) > MaxGone {
		return fmt.Errorf("%d destroyed revisions, at most %d are allowed", len(o.Gone), MaxGone)
	}
	for _, g := range o.Gone {
		release, err := manifest.ParseRelease(string(g.Release))
		if err != nil {
			return err
		}
		if year := g.At.UTC().Year(); release != g.Release || release == manifest.Latest || g.Revision != "" && !revisionForm.MatchString(g.Revision) || year < 0 || year > 9999 {
			return fmt.Errorf("%.80q is no revision that can be destroyed", g.ID())
		}
	}
	return nil
}

// Header is the text of the header by which a server tells an Order, without times. It names
// at most maxTold revisions, those first that first is true for.
func (o Order) Header(first func(Gone) bool) string {
	var parts []string
	if o.Seconds > 0 {
		parts = append(parts, "after="+strconv.FormatInt(o.Seconds, 10))
	}
	var ids, others []string
	for _, g := range o.Gone {
		if first(g) {
			ids = append(ids, g.ID())
		} else {
			others = append(others, g.ID())
		}
	}
	if ids = append(ids, others...); len(ids) > 0 {
		parts = append(parts, "destroyed="+strings.Join(ids[:min(len(ids), maxTold)], "+"))
	}
	return strings.Join(parts, "; ")
}

var errHeader = errors.New("unusable order to destroy")

// ParseHeader reads what Header writes. It trusts nothing in it. Keys that it does not know
// are skipped.
func ParseHeader(text string) (o Order, err error) {
	if len(text) > maxHeader {
		return Order{}, errHeader
	}
	if strings.TrimSpace(text) == "" {
		return Order{}, nil
	}
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(text, ";") {
		key, value, found := strings.Cut(strings.TrimSpace(pair), "=")
		if !found || seen[key] {
			return Order{}, errHeader
		}
		seen[key] = true
		switch key {
		case "after":
			if o.Seconds, err = strconv.ParseInt(value, 10, 64); err != nil {
				return Order{}, errHeader
			}
		case "destroyed":
			for id := range strings.SplitSeq(value, "+") {
				release, revision, _ := strings.Cut(id, "-")
				o.Gone = append(o.Gone, Gone{Release: manifest.Release(release), Revision: revision})
			}
		}
	}
	if err := o.Check(); err != nil {
		return Order{}, fmt.Errorf("%w: %w", errHeader, err)
	}
	return o, nil
}

// Merge adds what another publisher destroyed, the newest first, without what isBack is true
// for: it is there again.
func Merge(own, other []Gone, isBack func(Gone) bool) (all []Gone) {
	for _, g := range slices.Concat(own, other) {
		isKnown := slices.ContainsFunc(all, func(known Gone) bool { return known.ID() == g.ID() })
		if !isKnown && !isBack(g) {
			all = append(all, g)
		}
	}
	slices.SortStableFunc(all, func(a, b Gone) int { return b.At.Compare(a.At) })
	return all[:min(len(all), MaxGone)]
}
