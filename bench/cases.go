package main

import (
	"context"
	"os"
	"strings"
)

// bench is what every case is measured with.
type bench struct {
	syncd  string // the binary
	dir    string // of temporary files, "" for the system's
	runs   int
	shrink int64  // divides sizes and counts, so that a test can go through all
	work   string // the case's own folder
}

// benchCase is one table of the report.
type benchCase struct {
	name      string
	measure   func(context.Context, bench) (string, error)
	thousands bool // of files: on a file system of its own
}

func cases() []benchCase {
	var all []benchCase
	for _, r := range races() {
		all = append(all, benchCase{name: r.name, measure: r.measure, thousands: len(r.sizes) >= thousands})
	}
	return append(all,
		benchCase{name: "idle", measure: measureIdle},
		benchCase{name: "scale", measure: measureScale, thousands: true},
		benchCase{name: "huge", measure: measureHuge},
		benchCase{name: "monthly", measure: measureMonthly},
		benchCase{name: "kill", measure: measureKill},
		benchCase{name: "scrapes", measure: measureScrapes},
	)
}

func caseNames() string {
	var list []string
	for _, c := range cases() {
		list = append(list, c.name)
	}
	return strings.Join(list, ", ")
}

// measured gives the case a folder of its own and removes it with all that its
// runs left, no sooner: creating files is many times slower on some file systems
// just after thousands were deleted.
func (c benchCase) measured(ctx context.Context, b bench) (table string, err error) {
	dir, err := os.MkdirTemp(b.dir, "syncd-bench-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	b.work = dir
	if c.thousands && b.shrink == 1 {
		var unmount func()
		if b.work, unmount, err = mountDisk(dir); err != nil {
			return "", err
		}
		defer unmount()
	}
	return c.measure(ctx, b)
}

// smaller divides a size or a count in a test; something is always left.
func (b bench) smaller(n int64) int64 { return max(1, n/b.shrink) }

// smallerAll divides all sizes, and takes but a few of them in a test.
func (b bench) smallerAll(sizes []int64) (smaller []int64) {
	step := 1
	if b.shrink > 1 {
		step = max(1, len(sizes)/8)
	}
	for i := 0; i < len(sizes); i += step {
		smaller = append(smaller, b.smaller(sizes[i]))
	}
	return smaller
}
