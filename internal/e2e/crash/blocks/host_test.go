package blocks_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"syncd/internal/e2e"
	"syncd/internal/e2e/crash/blocks"
	"syncd/internal/e2e/crash/states"
	"syncd/internal/emulator"
)

// kind is a file system.
type kind struct {
	name    string
	size    int64 // the minimum of its mkfs, with a margin
	format  []string
	options string
	model   states.System
}

// kinds commit their journals every second, so that names reach the disk without an fsync.
// What btrfs keeps is no prefix of all changes: an fsync puts a file with its names into a log.
var kinds = []kind{
	{"ext4", 64 << 20, []string{"-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"}, "commit=1", states.Journal},
	{"xfs", 304 << 20, []string{"-K"}, "nouuid", states.Journal},
	{"btrfs", 128 << 20, []string{"-K"}, "commit=1", states.Posix},
}

// machine is a host whose disk is a real file system on a recorded disk.
type machine struct {
	*e2e.Host
	kind
	server  *blocks.Server
	disk    *blocks.Disk
	point   string // where the disk is mounted
	judge   states.Judge
	entries []blocks.Entry
	trace   *states.Trace

	export *export // nil if there is none

	isUntraced bool      // strace does not know every call of the work: the model is not asked
	ended      time.Time // when untraced work had ended
}

// need skips a test that cannot run here. CI does not allow skipped tests.
func need(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: mounts need root")
	}
	for _, tool := range []string{"strace", "mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("NOT TESTED: no %s: install strace, e2fsprogs, xfsprogs and btrfs-progs", tool)
		}
	}
	for _, device := range []string{"/dev/fuse", "/dev/loop-control"} {
		f, err := os.OpenFile(device, os.O_RDWR, 0)
		if err != nil {
			t.Skipf("NOT TESTED: %v", err)
		}
		f.Close()
	}
}

// newMachine is a host of a provider that tells no sizes: such files come one by one.
func newMachine(t *testing.T, k kind, more func(point string) string) *machine {
	t.Helper()
	need(t)
	m := &machine{Host: e2e.NewHost(t, "m"), kind: k}
	m.point = m.Path("disk")
	m.Must(os.Mkdir(m.point, 0o755))
	var err error
	m.server, err = blocks.Start(m.Dir)
	m.Must(err)
	t.Cleanup(func() {
		if err := m.server.Close(); err != nil {
			t.Error(err)
		}
		if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || bytes.Contains(mounts, []byte(m.Dir)) {
			t.Errorf("still mounted below %s (%v):\n%s", m.Dir, err, mounts)
		}
	})
	m.disk, err = m.server.Create("recorded", k.size)
	m.Must(err)
	m.Must(m.disk.Format(k.name, k.format...))
	m.Must(m.disk.Mount(k.name, k.options, m.point))
	m.Must(os.Chmod(m.point, 0o755))
	m.Data = filepath.Join(m.root(), "data")
	m.Must(os.MkdirAll(m.Data, 0o755))
	m.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Metadata/*"})
	text := "transfers: {files: 1}\n"
	if more != nil {
		text += more(m.point)
	}
	m.ConfigureWith(text)
	m.Provider.SetManifest("m", "2026.10", file("a", "1"), file("b", "2"))
	return m
}

func file(name, text string) emulator.File {
	return emulator.File{Name: name, Content: emulator.Text(text)}
}

// updated serves a release, and the next one is at the provider.
func (m *machine) updated() *machine {
	m.Helper()
	m.Sync(0)
	m.Provider.SetManifest("m", "2026.11", file("a", "1"), file("b", strings.Repeat("new", 3000)))
	return m
}

// record does the work on the recorded disk, and sees what a sync makes of the disk without
// and with it.
func (m *machine) record(args ...string) *machine {
	m.Helper()
	m.sync()
	m.Must(m.disk.Record())
	var err error
	if m.isUntraced {
		m.Expect(0, args...)
		m.ended = time.Now()
	} else {
		began := time.Now()
		m.trace, err = states.Record(m.Command(args...), m.point)
		m.Must(err)
		m.checkClock(began)
	}
	m.sync() // what the work left unwritten comes, too
	m.entries, err = m.disk.Recorded()
	m.Must(err)
	m.Must(unmount(m.point))
	m.judge.Config = m.Path("syncd.yaml")
	for first, outcome := range map[int]*states.Outcome{0: &m.judge.Before, len(m.entries): &m.judge.After} {
		m.Must(m.with(cut{first: first}, func() {
			served := m.exported()
			*outcome = m.outcome()
			if m.export != nil {
				m.export.allowed[first > 0], m.export.ends = served, m.exported()
				m.export.names = m.exportNames()
			}
		}))
	}
	return m
}

// checkClock does without the model if the clock was set during the work: the times of calls
// and of writes do not tell then which came first.
func (m *machine) checkClock(began time.Time) {
	const slewed = 5 * time.Millisecond
	ended := time.Now()
	if set := ended.Round(0).Sub(began.Round(0)) - ended.Sub(began); set.Abs() > slewed {
		m.Logf("NOT COMPARED WITH THE MODEL: the clock was set by %v", set)
		m.isUntraced, m.ended = true, ended
	}
}

// with mounts what a cut leaves. It returns an error if that cannot be mounted.
func (m *machine) with(c cut, use func()) error {
	m.Helper()
	image, err := m.disk.Cut("image", c.first, c.others)
	m.Must(err)
	if err := image.Mount(m.kind.name, m.options, m.point); err != nil {
		return err
	}
	use()
	m.Must(unmount(m.point))
	m.Must(image.Remove())
	return nil
}

// root is what the judge looks at. An export lies outside of it.
func (m *machine) root() string { return filepath.Join(m.point, "in") }

// sync writes everything to the disk.
func (m *machine) sync() {
	m.Helper()
	if out, err := exec.Command("sync", "-f", m.point).CombinedOutput(); err != nil {
		m.Fatalf("sync: %v: %s", err, out)
	}
}

// outcome is what readers see, and what the next sync makes of it.
func (m *machine) outcome() (o states.Outcome) {
	m.Helper()
	var err error
	o.Served, err = states.Served(m.Data)
	m.Must(err)
	m.Sync(0)
	o.Ends, err = states.Served(m.Data)
	m.Must(err)
	o.Want, err = states.Describe(m.root(), m.Data)
	m.Must(err)
	return o
}

// flushes is the number of flushes that the work made.
func (m *machine) flushes() (n int) {
	for _, e := range m.entries {
		if e.IsFlush {
			n++
		}
	}
	return n
}

func (m *machine) String() string {
	return fmt.Sprintf("%d flushes and %d writes of 4 KiB", m.flushes(), len(m.entries)-m.flushes())
}
