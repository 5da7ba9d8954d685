package manifest

import (
	"slices"
	"strings"
	"testing"
)

func TestMembersAreInTheOrderOfTheWire(t *testing.T) {
	got := SortMembers([]Member{
		{"zeta", "1"}, {"Architecture", "64BIT"}, {"alpha", "2"}, {"BuildNumber", "7"}, {"OS", "LINUX"}, {"Compiler", "C"},
		{"a b", "no name"}, {"1a", "no name"}, {"é", "no name"}, {"ctl", "a\x00"}, {"bad", "\xff"}, {"", "x"},
	})
	want := []Member{{"BuildNumber", "7"}, {"OS", "LINUX"}, {"Compiler", "C"}, {"Architecture", "64BIT"}, {"alpha", "2"}, {"zeta", "1"}}
	same(t, want, got)
	if got := SortMembers([]Member{{"a", strings.Repeat("x", MaxMembers)}}); got != nil {
		t.Errorf("%d bytes are kept", len(got[0].Value))
	}
}

func TestOnlyMetadataThatSyncdWritesIsValid(t *testing.T) {
	for _, m := range []Metadata{{}, {MD5: Digest{Algorithm: MD5}, Members: []Member{{"BuildDate", "1"}, {"x", "2"}}}} {
		if !m.Valid() {
			t.Errorf("%+v is refused", m)
		}
	}
	for _, m := range []Metadata{{MD5: Digest{Algorithm: SHA1}}, {SHA1: Digest{Algorithm: SHA256}}, {Members: []Member{{"<x>", "1"}}}, {Members: []Member{{"x", "1"}, {"a", "1"}}}} {
		if m.Valid() {
			t.Errorf("%+v is accepted", m)
		}
	}
}

func TestAMonthMayBelongToThesePeriods(t *testing.T) {
	for month, want := range map[Release][]Release{
		"2026.01": {"2026.Q1", "2025.B6", "2026.B6"}, "2026.02": {"2026.Q1", "2026.B1"}, "2026.03": {"2026.Q1", "2026.B1"},
		"2026.04": {"2026.Q2", "2026.B2"}, "2026.09": {"2026.Q3", "2026.B4"}, "2026.11": {"2026.Q4", "2026.B5"}, "2026.12": {"2026.Q4", "2026.B6"},
		"2026.Q1": nil, "latest": nil,
	} {
		if got := month.Aliases(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", month, got, want)
		}
	}
}
