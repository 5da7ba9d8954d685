package crash_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// soakRetainFor is long enough for a reader that resolved current, and short enough
// that pruning runs all the time.
const soakRetainFor = 2 * time.Second

// soakSizes are the sizes of a manifest's own files. A path keeps its size in every
// release, so a file of another size is torn.
var soakSizes = []int64{3, 700, 9000, 100 << 10}

const soakSharedSize = 20_000

var soakManifests = []string{"m", "n", "o"}

// soak is a daemon that lives through one release after another.
type soak struct {
	*e2e.Host
	random   *rand.Rand
	p        *e2e.Process
	number   atomic.Int64 // of the newest release; readers look at it
	restarts bool         // kills and terminations are allowed
	done     map[string]int
}

func TestSoakStaysFlatAndLosesNothing(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, soakManifests...).WithRace()
	h.Settings.Elapsed = "30s" // longer than any fault of the soak
	// The audit drops its records at once. With the default of two years, state/ would
	// grow during the whole test.
	h.ConfigureWith(fmt.Sprintf("schedule: \"@every 1h\"\nretain: 2\nretain_for: %s\naudit: {keep: 1ms}", soakRetainFor))
	s := &soak{Host: h, random: e2e.NewRandom(t), done: map[string]int{}}
	s.publish()
	s.p = h.Daemon()
	s.awaitRelease()
	readers := s.startReaders()
	defer readers.end()

	s.restarts = true
	disturbed := s.run(e2e.Times(6, 7000), func() { s.restart(syscall.SIGTERM) })
	s.restarts = false
	s.restart(syscall.SIGTERM)
	lasting := s.run(e2e.Times(6, 3000), func() {})

	s.publish() // ends the hold of a rollback
	s.ask()
	s.awaitRelease()
	readers.end()
	s.p.Terminate()
	h.Expect(0, "verify")
	h.Proven()
	e2e.Reliability(t, "soak", fmt.Sprintf("releases, with %s, and %s", s.deeds(), readers), int(s.number.Load())-1)
	disturbed.report(t, "soak, a fresh daemon each")
	lasting.report(t, "soak, one daemon")
}

// run publishes releases and takes a sample after each part of them. A sample sees the
// daemon after prepare, once pruning is over.
func (s *soak) run(releases int, prepare func()) (samples samples) {
	s.Helper()
	parts := e2e.Times(3, 10)
	for part := range parts {
		for range releases / parts {
			s.step()
		}
		prepare()
		samples = append(samples, sampleOf(s.p))
		s.Logf("part %d of %d: %v", part+1, parts, samples[part])
	}
	return samples
}

// step publishes a release, has it synced in one of many ways, and waits for it. No
// way asks twice, so a signal that is lost fails the test.
func (s *soak) step() {
	s.Helper()
	s.publish()
	if s.random.IntN(10) == 0 {
		s.addFault()
	}
	switch choice := s.random.IntN(100); {
	case choice < 4 && s.restarts:
		s.ask()
		time.Sleep(time.Duration(s.random.IntN(100)) * time.Millisecond) // at any moment
		s.restart(syscall.SIGKILL)
	case choice < 7 && s.restarts:
		s.ask()
		time.Sleep(time.Duration(s.random.IntN(100)) * time.Millisecond)
		s.restart(syscall.SIGTERM)
	case choice < 15:
		s.storm()
	case choice < 18:
		s.done["sync commands"]++
		s.Expect(0, "sync", "--quiet")
	default:
		s.ask()
	}
	s.awaitRelease()
	if s.random.IntN(100) < 2 {
		s.rollBack()
	}
}

func (s *soak) ask() { s.p.Signal(syscall.SIGUSR1) }

// storm sends both signals in random order; the last SIGUSR1 counts.
func (s *soak) storm() {
	s.Helper()
	s.done["signal storms"]++
	for range 20 {
		if s.random.IntN(2) == 0 {
			s.p.Signal(syscall.SIGHUP)
		} else {
			s.ask()
		}
	}
	s.ask()
	for range s.random.IntN(5) {
		s.p.Signal(syscall.SIGHUP)
	}
}

// restart ends the daemon with a signal and starts the next one.
func (s *soak) restart(signal syscall.Signal) {
	s.Helper()
	if signal == syscall.SIGTERM {
		s.done["terminations"]++
		s.p.Terminate()
	} else {
		s.done["kills"]++
		s.Must(s.p.Cmd.Process.Kill())
		e2e.Same(s.Host, "exit code after a kill", -1, s.p.Wait())
	}
	s.p = s.Daemon()
	s.p.Logged("sync")
}

// rollBack goes to the previous generation. The next release ends the hold.
func (s *soak) rollBack() {
	s.Helper()
	s.done["rollbacks"]++
	s.Expect(0, "rollback")
	if serves(s.Host, s.release()) {
		s.Errorf("release %s is served after a rollback", s.release())
	}
}

// addFault makes one to three requests fail. Retries get over it.
func (s *soak) addFault() {
	s.done["faults"]++
	faults := []emulator.Fault{
		{Kind: emulator.KindStatus, Status: 429},
		{Kind: emulator.KindReset},
		{Kind: emulator.KindReset, After: 500, Host: emulator.HostDownload},
		{Kind: emulator.KindTruncate, After: 500, Host: emulator.HostDownload},
	}
	fault := faults[s.random.IntN(len(faults))]
	fault.Times, fault.Skip = 1+s.random.IntN(3), s.random.IntN(20)
	s.Provider.ClearFaults()
	s.Provider.AddFault(fault)
}

func (s *soak) publish() {
	publishNumbered(s.Host, s.number.Add(1))
	s.Provider.ResetRequests()
}

// publishNumbered publishes a release of all soakManifests. A file of each changes, and
// the file that they share now and then. The provider lists the newest 24 releases.
func publishNumbered(h *e2e.Host, number int64) {
	for m, name := range soakManifests {
		shared := emulator.Random(uint64(number/5), soakSharedSize)
		files := []emulator.File{{Name: "shared", Content: shared}}
		for i, size := range soakSizes {
			age := (number + int64(i)) / int64(len(soakSizes))
			seed := uint64(age)<<16 | uint64(m)<<8 | uint64(i)
			files = append(files, emulator.File{Name: fmt.Sprint(name, i), Content: emulator.Random(seed, size)})
		}
		h.Provider.SetManifest(name, soakRelease(number), files...)
		if old := number - 24; old > 0 {
			h.Provider.RemoveRelease(name, soakRelease(old))
		}
	}
}

// soakRelease names a release; all of them are in the past.
func soakRelease(number int64) string { return fmt.Sprintf("%04d.%02d", 1000+number/12, number%12+1) }

func (s *soak) release() string { return soakRelease(s.number.Load()) }

func (s *soak) awaitRelease() {
	s.Helper()
	s.Eventually("release "+s.release()+" in current", func() bool { return serves(s.Host, s.release()) })
}

// serves is true when current has a release of every manifest.
func serves(h *e2e.Host, release string) bool {
	for _, name := range soakManifests {
		target, err := os.Readlink(filepath.Join(h.Data, "current", name))
		if err != nil || !strings.HasPrefix(filepath.Base(target), release+"-") {
			return false
		}
	}
	return true
}

func (s *soak) deeds() string {
	var parts []string
	for _, what := range []string{"kills", "terminations", "signal storms", "rollbacks", "sync commands", "faults"} {
		parts = append(parts, fmt.Sprintf("%d %s", s.done[what], what))
	}
	return strings.Join(parts, ", ")
}
