package crash_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

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
	{"state/syncd.db, KiB", 256},
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

// sample measures the idle daemon. Syncs prune, so the first one after retain_for ends
// has nothing left to remove.
func (s *soak) sample() sample {
	s.Helper()
	s.Eventually("pruning", func() bool {
		s.Expect(0, "sync", "--quiet")
		return s.pruned()
	})
	status, metrics := s.p.Get("/metrics")
	e2e.Same(s.Host, "status of /metrics", 200, status)
	db, err := os.Stat(filepath.Join(s.Data, "state", "syncd.db"))
	s.Must(err)
	proc := fmt.Sprintf("/proc/%d", s.p.Cmd.Process.Pid)
	return sample{
		s.numberAfter(proc+"/status", "VmRSS:"),
		s.numberAfter(proc+"/status", "VmHWM:"),
		len(e2e.NamesIn(s.Host, proc+"/fd")),
		s.numberIn(metrics, "go_goroutines "),
		strings.Count(metrics, "\n") - strings.Count(metrics, "\n#"),
		int(db.Size() >> 10),
		s.files("state"),
		s.files("partial"),
		s.files("objects"),
		s.revisions(),
		len(e2e.NamesIn(s.Host, filepath.Join(s.Data, "generations"))),
	}
}

// pruned is true when the mirror holds no more than `retain: 2` keeps: three revisions
// of each manifest, and the generations that show only these.
func (s *soak) pruned() bool {
	objects := 3 * (len(soakManifests)*len(soakSizes) + 1)
	return s.revisions() <= 3*len(soakManifests) && s.files("objects") <= objects && s.files("partial") == 0 &&
		len(e2e.NamesIn(s.Host, filepath.Join(s.Data, "generations"))) <= 6
}

func (s *soak) revisions() (count int) {
	for _, name := range soakManifests {
		count += len(e2e.NamesIn(s.Host, filepath.Join(s.Data, "revisions", name)))
	}
	return count
}

// files counts all below a folder that is not a directory.
func (s *soak) files(folder string) (count int) {
	_ = filepath.WalkDir(filepath.Join(s.Data, folder), func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() { // an error means that pruning removed it
			count++
		}
		return nil
	})
	return count
}

func (s *soak) numberAfter(file, key string) int {
	s.Helper()
	text, err := os.ReadFile(file)
	s.Must(err)
	return s.numberIn(string(text), key)
}

// numberIn is the number after a key at the start of a line.
func (s *soak) numberIn(text, key string) int {
	s.Helper()
	_, rest, _ := strings.Cut("\n"+text, "\n"+key)
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		s.Fatalf("no %q in:\n%s", key, text)
	}
	number, err := strconv.Atoi(fields[0])
	s.Must(err)
	return number
}
