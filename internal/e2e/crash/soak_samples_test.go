package crash_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"syncd/internal/e2e"
)

// soakMeasures must not grow. The last sample of a measure may be slack above 1.2 times
// the second.
var soakMeasures = []struct {
	name  string
	slack int
}{
	{"resident memory, KiB", 16 << 10},
	{"peak memory, KiB", 16 << 10},
	{"open descriptors", 32}, // idle connections come and go
	{"goroutines", 64},       // two for each connection
	{"metrics series", 10},
	{"state/syncd.db, KiB", 4 << 10}, // until its history has 1,000 entries
	{"files in state/", 0},
	{"files in partial/", 0},
	{"objects", 8},
	{"revisions", 2},
	{"generations", 3},
}

// sample has a value for each of soakMeasures.
type sample []int

func (s sample) String() string {
	parts := make([]string, len(s))
	for i, value := range s {
		parts[i] = fmt.Sprintf("%s %d", soakMeasures[i].name, value)
	}
	return strings.Join(parts, "; ")
}

type samples []sample

// report compares the last sample with the second, when warming up is over.
func (all samples) report(t *testing.T, name string) {
	t.Helper()
	second, last := all[1], all[len(all)-1]
	for i, m := range soakMeasures {
		if last[i] > second[i]*6/5+m.slack {
			t.Errorf("%s: %s grew from %d to %d", name, m.name, second[i], last[i])
		}
	}
	t.Logf("RELIABILITY %s, at the second of %d samples: %v", name, len(all), second)
	t.Logf("RELIABILITY %s, at the last of %d samples: %v", name, len(all), last)
}

// sampleOf measures an idle daemon. Syncs prune, so the first one after retain_for ends
// has nothing left to remove.
func sampleOf(p *e2e.Process) sample {
	h := p.Host
	h.Helper()
	h.Eventually("pruning", func() bool {
		time.Sleep(soakRetainFor / 10)
		h.Expect(0, "sync", "--quiet")
		return pruned(h)
	})
	status, metrics := p.Get("/metrics")
	e2e.Same(h, "status of /metrics", 200, status)
	db, err := os.Stat(filepath.Join(h.Data, "state", "syncd.db"))
	h.Must(err)
	proc := fmt.Sprintf("/proc/%d", p.Cmd.Process.Pid)
	return sample{
		numberAfter(h, proc+"/status", "VmRSS:"),
		numberAfter(h, proc+"/status", "VmHWM:"),
		len(e2e.NamesIn(h, proc+"/fd")),
		numberIn(h, metrics, "go_goroutines "),
		strings.Count(metrics, "\n") - strings.Count(metrics, "\n#"),
		int(db.Size() >> 10),
		filesIn(h, "state"),
		filesIn(h, "partial"),
		filesIn(h, "objects"),
		revisions(h),
		len(e2e.NamesIn(h, filepath.Join(h.Data, "generations"))),
	}
}

// pruned is true when the mirror holds no more than `retain: 2` keeps: three revisions
// of each manifest, and the generations that show only these.
func pruned(h *e2e.Host) bool {
	objects := 3 * (len(soakManifests)*len(soakSizes) + 1)
	return revisions(h) <= 3*len(soakManifests) && filesIn(h, "objects") <= objects && filesIn(h, "partial") == 0 &&
		len(e2e.NamesIn(h, filepath.Join(h.Data, "generations"))) <= 6
}

func revisions(h *e2e.Host) (count int) {
	for _, name := range soakManifests {
		count += len(e2e.NamesIn(h, filepath.Join(h.Data, "revisions", name)))
	}
	return count
}

// filesIn counts all below a folder that is not a directory.
func filesIn(h *e2e.Host, folder string) (count int) {
	_ = filepath.WalkDir(filepath.Join(h.Data, folder), func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() { // an error means that pruning removed it
			count++
		}
		return nil
	})
	return count
}

func numberAfter(h *e2e.Host, file, key string) int {
	h.Helper()
	text, err := os.ReadFile(file)
	h.Must(err)
	return numberIn(h, string(text), key)
}

// numberIn is the number after a key at the start of a line.
func numberIn(h *e2e.Host, text, key string) int {
	h.Helper()
	_, rest, _ := strings.Cut("\n"+text, "\n"+key)
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		h.Fatalf("no %q in:\n%s", key, text)
	}
	number, err := strconv.Atoi(fields[0])
	h.Must(err)
	return number
}
