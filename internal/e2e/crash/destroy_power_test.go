package crash_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"syncd/internal/e2e"
)

// TestPowerCutsOfDestroying cuts the power during a destruction or right after. A content that
// a record calls gone does not come back with the power, and a destruction that began goes on.
func TestPowerCutsOfDestroying(t *testing.T) {
	t.Parallel()
	onEachMachine(t, func(t *testing.T, d *disk) {
		c := &destroyCuts{Host: e2e.NewHost(t, "m"), disk: d, random: e2e.NewRandom(t)}
		c.Data = filepath.Join(d.root(), "data")
		c.ConfigureWith("retain: 2\nretain_for: 24h\nviews: [{name: v, layout: flat}]")
		c.Month("m", "1999.12", "of 1999.12")
		c.Expect(0, "sync")
		for range e2e.Times(2, 50) {
			c.round()
		}
		e2e.Reliability(t, "power cuts of destruction on "+d.fs(), "power cuts while a release was destroyed, or right after", c.number)
	})
}

type destroyCuts struct {
	*e2e.Host
	disk   *disk
	random *rand.Rand
	number int
}

func (c *destroyCuts) round() {
	c.Helper()
	before := c.ServedContent("m")
	c.number++
	next := fmt.Sprintf("%04d.%02d", 2000+c.number/12, c.number%12+1)
	c.Month("m", next, "of "+next)
	c.Expect(0, "sync")
	release := before[len("of "):]
	isDone := c.untilCut("destroy", "--yes", "m", release)
	left := (&destruction{Host: c.Host}).holding([][]byte{[]byte(before)})
	for _, r := range (&destruction{Host: c.Host}).records() {
		if r.Release == release && len(left) > 0 {
			c.Errorf("the record says that %s is gone, and %q have it", release, left)
		}
	}
	if isDone && len(left) > 0 {
		c.Errorf("destroy reported success, and %q have %s", left, release)
	}
	c.Expect(0, "sync")
	c.Expect(0, "destroy", "--yes", "m", release)
	if left := (&destruction{Host: c.Host}).holding([][]byte{[]byte(before)}); len(left) > 0 {
		c.Errorf("%q have %s", left, release)
	}
	e2e.Same(c.Host, "served", "of "+next, c.ServedContent("m"))
	c.Proven()
}

// untilCut runs a command and cuts the power during it or right after. It is true if the
// command reported success.
func (c *destroyCuts) untilCut(args ...string) bool {
	c.Helper()
	p := c.Start(args...)
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
