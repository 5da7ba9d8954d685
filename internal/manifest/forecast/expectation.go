package forecast

import (
	"slices"
	"time"

	"syncd/internal/manifest"
)

// Past is what is known of the past releases of a manifest. The zero value knows nothing.
type Past struct {
	Months   int       `json:"months,omitempty"` // usually from one listed release to the next; 0 if unknown
	Arrivals []Arrival `json:"arrivals,omitempty"`
}

// Arrival is a release that became the newest one, the oldest first in a Past.
type Arrival struct {
	Release manifest.Release `json:"release"`
	At      time.Time        `json:"at"`              // when it was first seen
	Bytes   int64            `json:"bytes,omitempty"` // downloaded for it
}

const (
	// maxArrivals is a year of monthly releases, so that old habits are forgotten.
	maxArrivals = 12
	// recent is how many of them say how large the next release will be.
	recent = 3
	// maxMonths is more than there ever are between two releases. Lists can say more.
	maxMonths = 120
	// leastInterval is the shortest one that releases of months can have. Tests and providers
	// that catch up publish faster, which tells nothing about the next release.
	leastInterval = 24 * time.Hour
	// lastYear is the last one that JSON can write.
	lastYear = 9999
)

// List notes the releases that the provider lists. One that cannot exist yet tells nothing.
func (p *Past) List(ids []string, now time.Time) {
	var months []manifest.Release
	for _, id := range ids {
		if r, err := manifest.ParseRelease(id); err == nil && r.IsMonth() && !isAhead(r, now) {
			months = append(months, r)
		}
	}
	slices.Sort(months)
	months = slices.Compact(months)
	months = months[max(len(months)-maxArrivals, 0):]
	var gaps []int
	for i := 1; i < len(months); i++ {
		gaps = append(gaps, months[i-1].MonthsTo(months[i]))
	}
	p.Months = median(gaps)
}

// isAhead is true for a release that cannot exist yet, which is refused.
func isAhead(r manifest.Release, now time.Time) bool { return r.TooFarAhead(now, time.Time{}) }

// Arrive notes a release that was not there before. A release that is no newer than the
// last arrival, cannot exist yet, or is no month, is not noted. Earlier versions noted
// releases that cannot exist yet.
func (p *Past) Arrive(release manifest.Release, at time.Time) {
	if !release.IsMonth() || isAhead(release, at) {
		return
	}
	p.Arrivals = slices.DeleteFunc(slices.Clone(p.Arrivals), func(a Arrival) bool { return isAhead(a.Release, at) })
	if n := len(p.Arrivals); n > 0 && !release.Newer(p.Arrivals[n-1].Release) {
		return
	}
	p.Arrivals = append(p.Arrivals, Arrival{Release: release, At: at})
	p.Arrivals = p.Arrivals[max(len(p.Arrivals)-maxArrivals, 0):]
}

// Download notes bytes that were downloaded for a release.
func (p *Past) Download(release manifest.Release, bytes int64) {
	p.Arrivals = slices.Clone(p.Arrivals)
	for i := range p.Arrivals {
		if p.Arrivals[i].Release == release {
			p.Arrivals[i].Bytes += bytes
		}
	}
}

// Due returns when the release after newest is due, or the zero time if that is unknown.
// With two arrivals or more, their usual distance tells, unless it is below a day: then
// nothing is known. Otherwise a release is due by the end of the month in its name.
func (p Past) Due(newest manifest.Release) time.Time {
	if !newest.IsMonth() {
		return time.Time{}
	}
	var gaps []int
	var paces []time.Duration // for each month in the names
	for i := 1; i < len(p.Arrivals); i++ {
		before, after := p.Arrivals[i-1], p.Arrivals[i]
		gap := before.Release.MonthsTo(after.Release)
		if took := after.At.Sub(before.At); gap > 0 && took > 0 {
			gaps, paces = append(gaps, gap), append(paces, took/time.Duration(gap))
		}
	}
	months := p.Months
	if months == 0 {
		months = median(gaps)
	}
	interval := time.Duration(months) * median(paces)
	switch n := len(p.Arrivals); {
	case months == 0 || months > maxMonths:
		return time.Time{}
	case len(paces) > 0 && interval < leastInterval:
		return time.Time{}
	case len(paces) > 0 && p.Arrivals[n-1].Release == newest:
		return p.Arrivals[n-1].At.Add(interval)
	}
	month, err := time.Parse("2006.01", string(newest))
	due := month.AddDate(0, months+1, 0)
	if err != nil || due.Year() > lastYear {
		return time.Time{}
	}
	return due
}

// IsLate is true when the release after newest is overdue by a day, or by 10 % of the
// usual interval if that is less.
func (p Past) IsLate(newest manifest.Release, now time.Time) bool {
	due := p.Due(newest)
	if due.IsZero() {
		return false
	}
	grace := 24 * time.Hour
	if n := len(p.Arrivals); n > 0 {
		grace = min(grace, due.Sub(p.Arrivals[n-1].At)/10)
	}
	return now.After(due.Add(grace))
}

// Bytes is how much the next release will probably bring: as much as the largest of the
// recent ones. It is 0 if that is unknown.
func (p Past) Bytes() (most int64) {
	for _, a := range p.Arrivals[max(len(p.Arrivals)-recent, 0):] {
		most = max(most, a.Bytes)
	}
	return most
}

// Growth is the space that the next releases will take beyond what pruning frees. A
// release takes its bytes for good while fewer revisions than retain are kept beside the
// served one. From then on pruning frees as much, but only after the release is there.
func (p Past) Growth(kept, retain int) int64 {
	lasting := min(max(retain-kept, 0), recent)
	return int64(min(lasting+1, recent)) * p.Bytes()
}

// median returns the middle of some values, the lower one of two; 0 for none.
func median[T int | time.Duration](values []T) T {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}
