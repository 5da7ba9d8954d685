package rings

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// large is a fleet of 10,000 hosts with 5 manifests each.
func large(tb testing.TB) (f *Fleet, askers []Asker) {
	s := served{}
	for m := range 5 {
		s[fmt.Sprint("m", m)] = []Served{release("2026.09", start), release("2026.10", start), release("2026.11", start)}
	}
	f, err := Read(s, nil, nil, 10_000)
	must(tb, err)
	f.now = func() time.Time { return start.Add(25 * time.Hour) }
	f.Configure([]Ring{canary, rest}, 10_000)
	for n := range 10_000 {
		a := f.Asker("hosts", "rest", http.Header{HeaderState: {fmt.Sprintf("host=h%d; id=1; release=2026.11", n)}})
		askers = append(askers, a)
		f.Seen(a, "m0", "m1", "m2", "m3", "m4")
	}
	return f, askers
}

func BenchmarkPoll(b *testing.B) {
	f, askers := large(b)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		f.Seen(askers[n%len(askers)], "m0")
	}
}

func BenchmarkVisible(b *testing.B) {
	f, askers := large(b)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		f.Visible(askers[n%len(askers)], "m0", release("2026.11", start))
	}
}

func BenchmarkCounts(b *testing.B) {
	f, _ := large(b)
	b.ReportAllocs()
	for b.Loop() {
		f.Counts()
	}
}
