package crash_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"syncd/internal/e2e"
)

// TestPowerCutsOfStagingAndActivating cuts the power while a group is staged or goes live.
// A sync never changes what is served, both manifests are always of one release, the gate
// has passed what is served, and what a command reported as done stays done.
func TestPowerCutsOfStagingAndActivating(t *testing.T) {
	t.Parallel()
	onEachMachine(t, func(t *testing.T, d *disk) {
		c := &stagingCuts{Host: e2e.NewHost(t, "m", "n"), disk: d, random: e2e.NewRandom(t)}
		c.Data = filepath.Join(d.root(), "data")
		c.ConfigureWith("retain: 0\nretain_for: 0s\nactivate: manual\ngate: {command: [" + c.Path("gate.sh") + "]}\ngroups: [{name: g, manifests: [m, n]}]")
		c.Write("gate.sh", "#!/bin/sh\n"+e2e.NotesWhatItPasses(c.Path("passed"))+"\n", 0o755)
		for range e2e.Times(2, 50) {
			c.round()
		}
		e2e.Reliability(t, "power cuts of staging on "+d.fs(), "power cuts while a group was staged or went live, or right after", c.cuts)
	})
}

type stagingCuts struct {
	*e2e.Host
	disk   *disk
	random *rand.Rand
	number int
	cuts   int
}

func (c *stagingCuts) round() {
	c.Helper()
	before := c.ServedContent("m")
	c.number++
	release := fmt.Sprintf("%04d.%02d", 2000+c.number/12, c.number%12+1)
	for _, name := range []string{"m", "n"} {
		c.Month(name, release, release)
	}
	isDone := c.untilCut("sync")
	c.together(before)
	if s := c.StagedStatus("m"); isDone && (s.Staged == nil || s.Staged.Release != release) {
		c.Errorf("a sync reported %s as staged, and it is not: %+v", release, s)
	}
	c.Expect(0, "sync")
	c.together(before)
	isDone = c.untilCut("activate")
	if isDone {
		c.together(release)
	}
	c.together(before, release)
	c.Expect(0, "sync")
	c.together(before, release)
	c.Expect(0, "activate")
	c.together(release)
}

// untilCut runs a command and cuts the power during it or right after. It is true if the
// command reported success.
func (c *stagingCuts) untilCut(command string) bool {
	c.Helper()
	c.cuts++
	p := c.Start(command)
	select {
	case <-p.Done:
	case <-time.After(time.Duration(c.random.Int64N(int64(500 * time.Millisecond)))): // at any moment
	}
	c.disk.cut()
	select {
	case <-p.Done:
	case <-time.After(5 * time.Second):
		_ = p.Cmd.Process.Kill() // fails when it has just ended
	}
	code := p.Wait()
	c.disk.restart()
	return code == 0
}

// together requires both manifests to be of one of the releases.
func (c *stagingCuts) together(releases ...string) {
	c.Helper()
	m, n := c.ServedContent("m"), c.ServedContent("n")
	for _, release := range releases {
		if m == release && n == release {
			if m != "" {
				c.Proven()
				e2e.WantPassed(c.Host, c.Path("passed"))
			}
			return
		}
	}
	c.Fatalf("m shows %q and n %q, want one of %q", m, n, releases)
}
