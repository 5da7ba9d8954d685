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
	name    string
	measure func(context.Context, bench) (string, error)
}

func cases() []benchCase {
	var all []benchCase
	for _, r := range races() {
		all = append(all, benchCase{r.name, r.measure})
	}
	return append(all,
		benchCase{"idle", measureIdle},
		benchCase{"scale", measureScale},
		benchCase{"huge", measureHuge},
		benchCase{"monthly", measureMonthly},
		benchCase{"kill", measureKill},
		benchCase{"scrapes", measureScrapes},
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
	if b.work, err = os.MkdirTemp(b.dir, "syncd-bench-"); err != nil {
		return "", err
	}
	defer os.RemoveAll(b.work)
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
