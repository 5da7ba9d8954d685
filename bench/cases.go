package main

import (
	"context"
	"os"
	"strings"
)

// bench holds the settings of all cases.
type bench struct {
	syncd  string // the binary
	dir    string // for temporary files; "" means the system's
	runs   int    // counted runs of each contender
	shrink int64  // divides sizes and counts, so that a test can run every case
	work   string // folder of the current case
}

// benchCase is one table of the report.
type benchCase struct {
	name      string
	measure   func(context.Context, bench) (string, error)
	manyFiles bool // runs on a file system of its own
}

func cases() []benchCase {
	var all []benchCase
	for _, r := range races() {
		all = append(all, benchCase{name: r.name, measure: r.measure, manyFiles: len(r.sizes) >= manyFiles})
	}
	return append(all,
		benchCase{name: "idle", measure: measureIdle},
		benchCase{name: "scale", measure: measureScale, manyFiles: true},
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

// run runs the case in a folder of its own and removes the folder at the end. It does
// not remove files earlier: on some file systems, creating files is many times slower
// right after thousands were deleted.
func (c benchCase) run(ctx context.Context, b bench) (table string, err error) {
	dir, err := os.MkdirTemp(b.dir, "syncd-bench-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	b.work = dir
	if c.manyFiles && b.shrink == 1 {
		var unmount func()
		if b.work, unmount, err = mountDisk(dir); err != nil {
			return "", err
		}
		defer unmount()
	}
	return c.measure(ctx, b)
}

// smaller divides a size or a count by shrink, down to 1 at least.
func (b bench) smaller(n int64) int64 { return max(1, n/b.shrink) }

// smallerAll divides all sizes by shrink. In a test it keeps only about eight of them.
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
