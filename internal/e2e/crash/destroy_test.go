package crash_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// TestWhatWasDestroyedIsGoneAfterKills kills a destruction at any moment, and now and then its
// recovery. Afterwards no file of the host has a content that was destroyed, whatever its
// name. What is shared and what is served are whole, and the records name each content.
func TestWhatWasDestroyedIsGoneAfterKills(t *testing.T) {
	t.Parallel()
	random := e2e.NewRandom(t)
	var done, kills, begun atomic.Int64
	t.Cleanup(func() {
		e2e.Reliability(t, "destruction", fmt.Sprintf("a destruction of a kept, a staged or an unfinished release, by a command or a daemon, killed at a random moment (%d kills, %d of them between the note and its end)", kills.Load(), begun.Load()), int(done.Load()))
	})
	var whole [destructionKinds]wholeDestruction
	for kind := range whole {
		whole[kind] = newDestruction(t, random, kind).measure()
	}
	for i := range e2e.Times(4, 500) {
		seed := random.Uint64()
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			random, kind := rand.New(rand.NewPCG(seed, uint64(i))), i%destructionKinds
			d := newDestruction(t, random, kind)
			d.ask(whole[kind])
			begun.Add(int64(d.begun()))
			d.recover()
			d.check()
			done.Add(1)
			kills.Add(int64(d.kills))
		})
	}
}

// TestFaultAtAnyStepOfADestruction kills or fails a destruction at each change on disk.
func TestFaultAtAnyStepOfADestruction(t *testing.T) {
	t.Parallel()
	random := e2e.NewRandom(t)
	var done atomic.Int64
	steps := 0
	t.Cleanup(func() {
		e2e.Reliability(t, "steps of a destruction", fmt.Sprintf("a destruction of %d steps on disk killed before or after one of them, or failing there with EIO or ENOSPC, done or not", steps), int(done.Load()))
	})
	kind := 3 // an earlier release and a staged one
	steps = newDestruction(t, random, kind).measure().steps
	rows, every := steps*len(stepFaults), e2e.Times(97, 1)
	for row := random.IntN(every); row < rows; row += every {
		seed, number, fault := random.Uint64(), row/len(stepFaults)+1, stepFaults[row%len(stepFaults)]
		t.Run(fmt.Sprintf("%03d: %s", number, fault.name), func(t *testing.T) {
			t.Parallel()
			d := newDestruction(t, rand.New(rand.NewPCG(seed, uint64(row))), kind)
			d.Environ = []string{fmt.Sprintf("SYNCD_STEP=%d:%s", number, fault.what)}
			d.Syncd(d.command()...)
			d.Environ = nil
			d.recover()
			d.check()
			done.Add(1)
		})
	}
}

// destruction is a host with releases to destroy.
type destruction struct {
	*e2e.Host
	random   *rand.Rand
	releases []string // of m, to destroy
	gone     [][]byte // contents that only they have
	shared   [][]byte // contents of them that stay
	exported string
	kills    int
}

// destructionKinds are what is destroyed: an earlier release, a staged one, the fragments of
// one, or the first two.
const destructionKinds = 4

func newDestruction(t *testing.T, random *rand.Rand, kind int) *destruction {
	d := &destruction{Host: e2e.NewHost(t, "m", "n"), random: random}
	d.exported = d.Path("srv", "refdata")
	more := "retain: 2\nretain_for: 24h\nviews: [{name: v, layout: flat, hash_files: true, manifests: [m], export: " + d.exported + "}]"
	d.ConfigureWith(more)
	d.publish("n", "2026.09", "only n", "m and n")
	old := d.publish("m", "2026.09", "a of september", "m and n", "all of m")
	d.Sync(0)
	d.publish("m", "2026.10", "a of october", "all of m")
	d.Sync(0)
	if kind == 0 || kind == 3 {
		d.wants("2026.09", old[0], old[3])
		d.shared = append(d.shared, old[1], old[2])
	}
	if kind == 1 || kind == 3 {
		d.ConfigureWith(more + "\nactivate: manual")
		next := d.publish("m", "2026.11", "a of november", "all of m")
		d.Sync(0)
		d.wants("2026.11", next[0], next[2])
		d.shared = append(d.shared, next[1])
	}
	if kind == 2 {
		next := d.publish("m", "2026.11", "a of november", "all of m")
		d.Provider.AddFault(emulator.Fault{Kind: emulator.KindTruncate, Host: emulator.HostDownload, Path: "*/mlarge", After: 1 << 20, Times: 1})
		d.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Host: emulator.HostDownload, Path: "*/mlarge", Status: 404})
		d.Sync(1)
		d.wants("2026.11", next[0], next[2])
	}
	return d
}

// publish publishes a release with a file for each text, and a large one.
func (d *destruction) publish(name, release string, texts ...string) (contents [][]byte) {
	var files []emulator.File
	for i, text := range texts {
		contents = append(contents, []byte(text))
		files = append(files, e2e.TextFile(fmt.Sprint(name, i), text))
	}
	large := make([]byte, 2<<20+d.random.IntN(1000))
	for i := 0; i < len(large)-8; i += 8 {
		copy(large[i:], fmt.Sprintf("%08x", d.random.Uint32()))
	}
	d.Provider.SetManifest(name, release, append(files, emulator.File{Name: name + "large", Content: emulator.Text(string(large))})...)
	return append(contents, large)
}

func (d *destruction) wants(release string, gone ...[]byte) {
	d.releases, d.gone = append(d.releases, release), append(d.gone, gone...)
}

func (d *destruction) command() []string {
	return append([]string{"destroy", "--yes", "m"}, d.releases...)
}

// wholeDestruction is one without a kill.
type wholeDestruction struct {
	steps int // on disk
	took  time.Duration
}

func (d *destruction) measure() (w wholeDestruction) {
	d.Helper()
	d.Environ = []string{"SYNCD_STEPS=" + d.Path("steps")}
	began := time.Now()
	d.Expect(0, d.command()...)
	d.Environ, w.took = nil, time.Since(began)
	w.steps = len(stepsOf(d.Host))
	d.check()
	return w
}

// ask has a command or a daemon destroy, and kills it.
func (d *destruction) ask(whole wholeDestruction) {
	d.Helper()
	if d.random.IntN(3) == 0 {
		p := d.SyncedDaemon()
		asking := d.Start(d.command()...)
		d.killWithin(p, whole.took)
		<-asking.Done
		return
	}
	if d.random.IntN(2) == 0 { // right at one of the steps on disk
		d.Environ = []string{fmt.Sprintf("SYNCD_STEP=%d:%s", 1+d.random.IntN(whole.steps), []string{"kill-before", "kill-after"}[d.random.IntN(2)])}
		p := d.Start(d.command()...)
		d.Environ = nil
		<-p.Done
		if p.Cmd.ProcessState.ExitCode() != 0 {
			d.kills++
		}
		return
	}
	d.killWithin(d.Start(d.command()...), whole.took)
}

// killWithin kills a process at a random moment of the given time, if it still runs.
func (d *destruction) killWithin(p *e2e.Process, most time.Duration) {
	select {
	case <-p.Done:
	case <-time.After(time.Duration(d.random.Int64N(int64(most)))):
		d.kills++
		_ = p.Cmd.Process.Kill() // fails when it has just ended
		<-p.Done
	}
}

// begun counts the destructions that have begun and are not over.
func (d *destruction) begun() (count int) {
	d.Helper()
	notes, err := filepath.Glob(filepath.Join(d.Data, "state/destroyed/m/*"))
	d.Must(err)
	for _, name := range notes {
		text, err := os.ReadFile(name)
		d.Must(err)
		if bytes.Contains(text, []byte(`"at":"0001-`)) {
			count++
		}
	}
	return count
}

// recover starts syncd again, perhaps with another kill before.
func (d *destruction) recover() {
	d.Helper()
	if d.random.IntN(3) == 0 {
		d.killWithin(d.Start("sync"), 200*time.Millisecond)
	}
	d.Syncd("sync") // it fails if nothing was destroyed yet of a release that cannot be fetched
	for _, r := range d.records() {
		if left := d.holding(d.goneOf(r)); len(left) > 0 {
			d.Errorf("after the recovery, %q have contents that the record of %s calls gone", left, r.Release)
		}
	}
	d.Expect(0, d.command()...)
	d.Expect(0, "sync")
}

type destroyedRecord struct {
	Release, Revision string
	Contents          []struct {
		SHA256     string
		SharedWith []string `json:"shared_with"`
	}
}

func (d *destruction) records() (list []destroyedRecord) {
	d.Helper()
	d.Must(json.Unmarshal([]byte(d.Expect(0, "destroyed", "--json").Stdout), &list))
	return list
}

// goneOf are the contents that a record calls gone.
func (d *destruction) goneOf(r destroyedRecord) (contents [][]byte) {
	for _, content := range d.gone {
		if shared, named := sharedIn(r, content); named && len(shared) == 0 {
			contents = append(contents, content)
		}
	}
	return contents
}

func sharedIn(r destroyedRecord, content []byte) (with []string, named bool) {
	sum := sha256.Sum256(content)
	for _, c := range r.Contents {
		if c.SHA256 == hex.EncodeToString(sum[:]) {
			return c.SharedWith, true
		}
	}
	return nil, false
}

// holding lists the files of the host that have one of the contents, or a part of a large one.
func (d *destruction) holding(contents [][]byte) (names []string) {
	d.Helper()
	for _, folder := range []string{d.Data, d.Path("srv")} {
		d.Must(filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) { // there is no exported folder
				return nil
			}
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(name)
			for _, content := range contents {
				if bytes.Contains(text, content[:min(len(content), 4096)]) {
					names = append(names, name)
				}
			}
			return err
		}))
	}
	return names
}

func (d *destruction) check() {
	d.Helper()
	if left := d.holding(d.gone); len(left) > 0 {
		d.Errorf("%q have contents that were destroyed", left)
	}
	records := d.records()
	e2e.Same(d.Host, "records", len(d.releases), len(records))
	for _, content := range d.gone {
		if !slices.ContainsFunc(records, func(r destroyedRecord) bool { shared, named := sharedIn(r, content); return named && len(shared) == 0 }) {
			d.Errorf("no record says that %.20q is gone", content)
		}
	}
	for _, content := range d.shared {
		if len(d.holding([][]byte{content})) == 0 {
			d.Errorf("%.20q is gone, and was shared", content)
		}
		if !slices.ContainsFunc(records, func(r destroyedRecord) bool { shared, _ := sharedIn(r, content); return len(shared) > 0 }) {
			d.Errorf("no record says that %.20q is shared", content)
		}
	}
	d.Proven()
	d.Expect(0, "verify")
	e2e.Same(d.Host, "exported", "a of october", string(d.Read("srv/refdata/m0")))
}
