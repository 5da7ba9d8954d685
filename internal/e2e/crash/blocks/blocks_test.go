package blocks_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"syncd/internal/e2e"
)

// cut is a moment at which the power fails: the disk keeps the first entries that were
// recorded, and some of those up to the moment.
type cut struct {
	first, moment int
	others        []int
}

func (c cut) String() string { return fmt.Sprintf("%d:%d:%d", c.first, c.moment, c.others) }

// atFlushes are the cuts right before one in some flushes with everything that was written, and
// the end.
func (m *machine) atFlushes(every int, random *rand.Rand) (cuts []cut) {
	for i, e := range m.entries {
		if e.IsFlush && random.IntN(every) == 0 {
			cuts = append(cuts, cut{first: i, moment: i})
		}
	}
	return append(cuts, cut{first: len(m.entries), moment: len(m.entries)})
}

// between are cuts between flushes: half of them with all writes up to a moment, half with
// some of those that no flush covers.
func (m *machine) between(number int, random *rand.Rand) (cuts []cut) {
	for i := range number {
		c := cut{moment: random.IntN(len(m.entries) + 1)}
		c.first = c.moment
		if i%2 == 1 {
			for c.first > 0 && !m.entries[c.first-1].IsFlush {
				c.first--
			}
			share := random.Float64()
			for other := c.first; other < c.moment; other++ {
				if random.Float64() < share {
					c.others = append(c.others, other)
				}
			}
		}
		cuts = append(cuts, c)
	}
	return cuts
}

// tally counts what was found.
type tally struct{ images, lost, outside int }

// enough findings end a test.
const enough = 5

// visit judges the disks that cuts leave.
func (m *machine) visit(cuts []cut) (n tally) {
	m.Helper()
	seen := map[string]bool{}
	for _, c := range cuts {
		if seen[c.String()] || n.lost+n.outside >= enough {
			continue
		}
		seen[c.String()] = true
		n.images++
		outside, lost := m.look(c)
		if outside != nil {
			n.outside++
			m.keep(c, outside)
		}
		if lost != nil {
			n.lost++
			m.keep(c, lost)
		}
	}
	return n
}

// look says whether the model does not allow what a cut leaves, and what the judge finds lost.
func (m *machine) look(c cut) (outside, lost error) {
	m.Helper()
	moment := m.moment(c)
	isReported := moment.After(m.ended)
	cannot := m.with(c, func() {
		if !m.isUntraced {
			var first, last int
			first, last, isReported = m.trace.At(moment)
			seen, err := m.trace.See(m.point)
			m.Must(err)
			outside = m.trace.Allows(m.model, first, last, seen)
		}
		lost = errors.Join(m.checkExport(isReported), m.judge.Check(m.root(), isReported), m.checkExportEnds())
	})
	return outside, errors.Join(cannot, lost)
}

// moment is when the last write before a cut arrived.
func (m *machine) moment(c cut) time.Time {
	if c.moment == 0 {
		return time.Time{}
	}
	return m.entries[c.moment-1].At
}

// around tells what the disk and the program did around a cut.
func (m *machine) around(c cut) string {
	const span = 12
	var lines []string
	line := func(at time.Time, format string, args ...any) {
		lines = append(lines, at.UTC().Format("05.000000")+" "+fmt.Sprintf(format, args...))
	}
	for i := max(0, c.moment-span); i < min(len(m.entries), c.moment+span); i++ {
		e := m.entries[i]
		line(e.At, "disk %d: page %d, flush %t", i, e.Page, e.IsFlush)
	}
	if m.trace != nil {
		first, last, _ := m.trace.At(m.moment(c))
		for point := max(1, first-span/2); point < min(m.trace.Points(), last+span/2); point++ {
			from, until := m.trace.When(point)
			line(from, "program %d begins: %s", point, m.trace.What(point))
			line(until, "program %d has ended", point)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// keep reports a finding, and keeps the disk.
func (m *machine) keep(c cut, err error) {
	m.Helper()
	m.Errorf("cut %s: %v\n%s", c, err, m.around(c))
	if _, e := m.disk.Cut(fmt.Sprintf("kept-%d-%d", c.first, c.moment), c.first, c.others); e != nil {
		m.Error(e)
		return
	}
	file := filepath.Join(os.TempDir(), fmt.Sprintf("syncd-%s-%d-%d.img", m.kind.name, c.first, c.moment))
	out, e := exec.Command("dd", "if="+m.Path("fuse", fmt.Sprintf("kept-%d-%d", c.first, c.moment)), "of="+file, "bs=1M", "conv=sparse").CombinedOutput()
	m.Logf("%s has this disk: %v %s", file, e, out)
}

// unmount waits for a process that another test is starting: it has our open files until its
// exec.
func unmount(point string) error {
	for deadline := time.Now().Add(e2e.Patience); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Unmount(point, 0)
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return err
		}
	}
}

// works are pieces of work, by what they do.
var works = map[string]func(t *testing.T, k kind) *machine{
	"first sync": func(t *testing.T, k kind) *machine {
		m := newMachine(t, k, nil)
		m.judge.MayLoseState = true
		return m.record("sync", "--json")
	},
	"next release": func(t *testing.T, k kind) *machine {
		return newMachine(t, k, nil).updated().record("sync", "--json")
	},
	"rollback": func(t *testing.T, k kind) *machine {
		m := newMachine(t, k, nil).updated()
		m.Sync(0)
		return m.record("rollback", "--json")
	},
	"next release with pruning": func(t *testing.T, k kind) *machine {
		return newMachine(t, k, func(string) string { return "retain: 0\nretain_for: 0s\n" }).updated().record("sync", "--json")
	},
	"next release with an export": func(t *testing.T, k kind) *machine { // which calls fchmodat2
		m := newMachine(t, k, func(point string) string {
			return fmt.Sprintf("views: [{name: v, layout: flat, export: %s}]\n", filepath.Join(point, "srv", "v"))
		}).updated()
		m.isUntraced, m.export = true, &export{allowed: map[bool]string{}}
		return m.record("sync", "--json")
	},
}

// onlyOn names the one file system on which CI does a piece of work.
var onlyOn = map[string]string{
	"first sync":                  "btrfs",
	"rollback":                    "xfs",
	"next release with pruning":   "ext4",
	"next release with an export": "xfs",
}

// TestNoCutOfARealDiskLosesAnything cuts the power of real file systems.
func TestNoCutOfARealDiskLosesAnything(t *testing.T) {
	for name, work := range works {
		for _, k := range kinds {
			if only := onlyOn[name]; only != "" && only != k.name && e2e.Times(0, 1) == 0 {
				continue
			}
			t.Run(name+" on "+k.name, func(t *testing.T) {
				started := time.Now()
				m := work(t, k)
				random := e2e.NewRandom(t)
				n := m.visit(append(m.atFlushes(e2e.Times(2, 1), random), m.between(e2e.Times(10, 1000), random)...))
				e2e.Reliability(t, "cut disks: "+t.Name(), fmt.Sprintf("%s, %d disks, %d of them not in the model (compared: %t), judged in %s", m, n.images, n.outside, !m.isUntraced, time.Since(started).Round(time.Second)), n.images)
			})
		}
	}
}

// TestADiskThatForgetsIsFound leaves out what was flushed: the model must not allow that, and
// something is lost.
func TestADiskThatForgetsIsFound(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			m := works["next release"](t, k)
			outside, lost := m.look(cut{moment: len(m.entries)})
			if outside == nil || lost == nil {
				t.Errorf("a disk without any write of the work: model: %v, judge: %v", outside, lost)
			}
		})
	}
}
