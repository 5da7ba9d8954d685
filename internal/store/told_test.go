package store

import (
	"testing"

	"syncd/internal/manifest/destruction"
)

// An order counts while any of the sources of this host gave it.
func TestAnOrderOfEachSourceCounts(t *testing.T) {
	m := Manifest{Destruction: &destruction.Told{Source: "https://far.example.net", Order: destruction.Order{Seconds: 60}}}
	if m.Told("https://near.example.net", "https://far.example.net") == nil || m.Told("https://near.example.net") != nil {
		t.Error("the order of the second source does not count, or that of a source of before does")
	}
}
