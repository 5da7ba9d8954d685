package mirror

import (
	"context"
	"fmt"
	"testing"

	"syncd/internal/manifest"
)

// BenchmarkPublish swaps to a release of 1,000 files whose objects are there: one
// whose tree must be built, and one that is served already.
func BenchmarkPublish(b *testing.B) {
	content := files{}
	for i := range 1000 {
		content[fmt.Sprintf("linux/gcc48/64bit/file%04d", i)] = fmt.Sprint("content ", i)
	}
	publish := func(b *testing.B, m *Mirror, r Record) {
		b.Helper()
		if _, err := m.Publish(context.Background(), Change{Set: []Record{r}}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("a new revision", func(b *testing.B) {
		m := newMirror(b)
		r := recordOf(b, m, "a", "2000.01", content)
		month := 0
		b.ReportAllocs()
		for b.Loop() {
			r.Release = manifest.Release(fmt.Sprintf("%04d.%02d", 2000+month/12, 1+month%12))
			month++
			publish(b, m, r)
		}
	})
	b.Run("the same again", func(b *testing.B) {
		m := newMirror(b)
		r := recordOf(b, m, "a", "2026.10", content)
		publish(b, m, r)
		b.ReportAllocs()
		for b.Loop() {
			publish(b, m, r)
		}
	})
}
