package manifest

import (
	"fmt"
	"testing"
)

func BenchmarkParseRelease(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		for _, id := range []string{"2026.10", "2026-09", "2026.Q4", "latest"} {
			if _, err := ParseRelease(id); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkNewest picks from the releases of twenty years.
func BenchmarkNewest(b *testing.B) {
	var ids []string
	for month := range 240 {
		ids = append(ids, fmt.Sprintf("%d.%02d", 2007+month/12, 1+month%12))
	}
	b.ReportAllocs()
	for b.Loop() {
		if newest, _ := Newest(ids); newest != "2026.12" {
			b.Fatal(newest)
		}
	}
}

// The sizes show whether four times the files cost four times the time.
func BenchmarkPlanOfManyFiles(b *testing.B) {
	for _, count := range []int{2500, 10_000} {
		files := make([]File, count)
		for i := range files {
			files[i] = File{
				Path:     fmt.Sprintf("linux/gcc48/64bit/file%05d", i),
				Expected: ObjectID{byte(i), byte(i >> 8)}.Digest(),
			}
		}
		b.Run(fmt.Sprintf("NewPlan/%d files", count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NewPlan(files, func(f File) (Object, bool) { return Object{}, f.Path[len(f.Path)-1] == '0' })
			}
		})
		b.Run(fmt.Sprintf("Fingerprint/%d files", count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Fingerprint(files)
			}
		})
		b.Run(fmt.Sprintf("CheckTree/%d files", count), func(b *testing.B) {
			paths := make([]string, count)
			for i, f := range files {
				paths[i] = f.Path
			}
			b.ReportAllocs()
			for b.Loop() {
				must(b, CheckTree(paths))
			}
		})
	}
}
