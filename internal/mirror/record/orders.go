package record

import (
	"slices"
	"time"

	"syncd/internal/manifest"
)

// Orders are what an operator said by command about a manifest. They are in the record that
// `current` shows, and each new generation takes them over, so that a lost state loses
// none.
type Orders struct {
	Pin       manifest.Release   `json:"pin,omitempty"`        // goes before the configured release
	PinForced bool               `json:"pin_forced,omitempty"` // the pinned release goes live although it has expired
	HoldUntil time.Time          `json:"hold_until,omitzero"`  // the manifest stays as it is until then
	Skip      []manifest.Release `json:"skip,omitempty"`       // releases that are passed over, sorted
}

// IsZero is true without any order.
func (o Orders) IsZero() bool { return o.Pin == "" && o.HoldUntil.IsZero() && len(o.Skip) == 0 }

// Equal is true for the same orders.
func (o Orders) Equal(other Orders) bool {
	return o.Pin == other.Pin && o.PinForced == other.PinForced && o.HoldUntil.Equal(other.HoldUntil) && slices.Equal(o.Skip, other.Skip)
}

// Holds is true while the manifest must stay as it is.
func (o Orders) Holds(now time.Time) bool { return now.Before(o.HoldUntil) }

// Skips is true for a release that is passed over. A pinned one is not.
func (o Orders) Skips(release manifest.Release) bool {
	return release != o.Pin && slices.Contains(o.Skip, release)
}
