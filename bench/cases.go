package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"syncd/bench/internal/contender"
	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
)

// bench holds the settings of all cases.
type bench struct {
	binary string // of syncd
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
		benchCase{name: "calls", measure: measureCalls, manyFiles: true},
		benchCase{name: "neighbour", measure: measureNeighbour},
		benchCase{name: "idle", measure: measureIdle},
		benchCase{name: "scale", measure: measureScale, manyFiles: true},
		benchCase{name: "huge", measure: measureHuge},
		benchCase{name: "monthly", measure: measureMonthly},
		benchCase{name: "kill", measure: measureKill},
		benchCase{name: "scrapes", measure: measureScrapes},
		benchCase{name: "serve", measure: measureServe},
		benchCase{name: "follow", measure: measureFollow, manyFiles: true},
		benchCase{name: "patched", measure: measurePatched},
		benchCase{name: "changes", measure: measureChanges},
		benchCase{name: "patches", measure: measurePatches},
	)
}

// choose returns the cases with these names, separated by commas; all for "".
func choose(names string) ([]benchCase, error) {
	if names == "" {
		return cases(), nil
	}
	var chosen []benchCase
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(cases(), func(c benchCase) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown case %q: choose from %s", name, caseNames())
		}
		chosen = append(chosen, cases()[i])
	}
	return chosen, nil
}

// cannotRun returns whether the machine lacks what a case needs.
func cannotRun(err error) bool {
	return errors.Is(err, provider.ErrNoNginx) || errors.Is(err, measure.ErrNoCgroup) || errors.Is(err, errNoTool)
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
func (c benchCase) run(ctx context.Context, b bench) (text string, err error) {
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

// syncd returns a first sync with its defaults.
func (b bench) syncd() contender.Contender {
	return contender.Syncd("syncd", b.binary, contender.Settings{})
}

// smaller divides a size or a count by shrink, down to 1 at least.
func (b bench) smaller(n int64) int64 { return max(1, n/b.shrink) }

// fitting is at most a size, and at most a twelfth of the free room: a case that patches a
// file keeps up to eight copies of it, and a daemon leaves room free beside its patches.
func (b bench) fitting(n int64) int64 {
	var fs unix.Statfs_t
	if err := unix.Statfs(b.work, &fs); err != nil {
		return b.smaller(n) // the case fails by itself when there is no room
	}
	return b.smaller(min(n, int64(fs.Bavail)*fs.Bsize/12))
}

// smallerAll divides all sizes by shrink, and their number, down to about eight of them.
func (b bench) smallerAll(sizes []int64) (smaller []int64) {
	step := max(1, min(int(b.shrink), len(sizes)/8))
	for i := 0; i < len(sizes); i += step {
		smaller = append(smaller, b.smaller(sizes[i]))
	}
	return smaller
}
