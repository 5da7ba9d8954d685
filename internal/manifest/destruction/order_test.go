package destruction

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func none(Gone) bool { return false }

func TestHeaderCarriesAnOrder(t *testing.T) {
	o := Order{Seconds: 7776000, Gone: []Gone{{Release: "2026.08"}, {Release: "2026.07", Revision: "0123456789ab"}}}
	if got, want := o.Header(none), "after=7776000; destroyed=2026.08+2026.07-0123456789ab"; got != want {
		t.Errorf("got %s", got)
	}
	if got, want := o.Header(func(g Gone) bool { return g.Release == "2026.07" }), "after=7776000; destroyed=2026.07-0123456789ab+2026.08"; got != want {
		t.Errorf("the first one comes later: %s", got)
	}
	got, err := ParseHeader(o.Header(none))
	if diff := cmp.Diff(o, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if got, err := ParseHeader(Order{}.Header(none)); err != nil || !got.IsZero() {
		t.Errorf("no order: %+v, %v", got, err)
	}
	if got, err := ParseHeader("after=1; later=x"); err != nil || got.Seconds != 1 {
		t.Errorf("a key of a newer syncd: %+v, %v", got, err)
	}
	for n := range 3 * MaxGone {
		o.Gone = append(o.Gone, Gone{Release: "2026.06", Revision: fmt.Sprintf("%012x", n)})
	}
	if got, err := ParseHeader(o.Header(none)); err != nil || len(got.Gone) != maxTold {
		t.Errorf("%d revisions in the longest header, %v", len(got.Gone), err)
	}
}

func TestUnusableOrdersAreRefused(t *testing.T) {
	for name, header := range map[string]string{
		"negative":         "after=-1",
		"huge":             "after=99999999999",
		"beyond 64 bits":   "after=99999999999999999999",
		"no number":        "after=90d",
		"twice":            "after=1; after=2",
		"no value":         "after",
		"latest":           "destroyed=latest",
		"no month":         "destroyed=2026.13",
		"other spelling":   "destroyed=2026-08",
		"path":             "destroyed=../..",
		"revision":         "destroyed=2026.08-x",
		"long revision":    "destroyed=2026.08-0123456789abcdef",
		"everything":       "destroyed=*",
		"nothing":          "destroyed=",
		"flood":            "destroyed=" + strings.Repeat("2026.08+", MaxGone) + "2026.08",
		"flood of pairs":   strings.Repeat("x=1;", 10_000),
		"flood, too long":  "destroyed=" + strings.Repeat("2026.08-0123456789ab+", 10_000) + "2026.08",
		"line in a header": "after=1\r\nSyncd-Upstream: 1",
	} {
		if o, err := ParseHeader(header); err == nil || !o.IsZero() {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
	}
	if err := (Order{Gone: []Gone{{Release: "2026.08", At: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)}}}).Check(); err == nil {
		t.Error("the year 12000 passes")
	}
}

func TestOneRevisionOrAllOfARelease(t *testing.T) {
	o := Order{Gone: []Gone{{Release: "2026.08"}, {Release: "2026.07", Revision: "0123456789ab"}}}
	for _, row := range []struct {
		id   string
		want bool
	}{{"2026.08 ba9876543210", true}, {"2026.07 0123456789ab", true}, {"2026.07 ba9876543210", false}, {"2026.09 0123456789ab", false}} {
		release, revision, _ := strings.Cut(row.id, " ")
		g, _ := ParseHeader("destroyed=" + release)
		if got := o.Names(g.Gone[0].Release, revision); got != row.want {
			t.Errorf("%s: got %v", row.id, got)
		}
	}
}

func TestSecondsAreRoundedUp(t *testing.T) {
	for after, want := range map[time.Duration]int64{0: 0, -time.Hour: 0, time.Nanosecond: 1, time.Second: 1, 1500 * time.Millisecond: 2} {
		if got := SecondsOf(after); got != want {
			t.Errorf("%s: got %d", after, got)
		}
	}
}

func TestMergeKeepsTheNewest(t *testing.T) {
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	own := []Gone{{Release: "2026.08", At: at}, {Release: "2026.05", At: at.Add(-time.Hour)}}
	other := []Gone{{Release: "2026.08", At: at.Add(time.Hour)}, {Release: "2026.06", At: at.Add(2 * time.Hour)}, {Release: "2026.09", At: at}}
	got := Merge(own, other, func(g Gone) bool { return g.Release == "2026.09" })
	if diff := cmp.Diff([]Gone{other[1], own[0], own[1]}, got); diff != "" {
		t.Error(diff)
	}
	for n := range 2 * MaxGone {
		own = append(own, Gone{Release: "2026.01", Revision: fmt.Sprintf("%012x", n)})
	}
	if got := Merge(own, nil, none); len(got) != MaxGone || got[0].Release != "2026.08" {
		t.Errorf("%d, the first %+v", len(got), got[0])
	}
}

func FuzzParseHeader(f *testing.F) {
	f.Add("after=7776000; destroyed=2026.08+2026.07-0123456789ab")
	f.Add("destroyed=2026.Q3;x=1")
	f.Fuzz(func(t *testing.T, header string) {
		o, err := ParseHeader(header)
		if err != nil {
			return
		}
		again, err := ParseHeader(o.Header(none))
		if err != nil || !again.Equal(o) {
			t.Errorf("%q: %+v, then %+v, %v", header, o, again, err)
		}
	})
}
