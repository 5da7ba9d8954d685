package crash_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"syncd/internal/e2e"
)

// carrying is a near side that exports, and a far side that imports.
type carrying struct {
	*e2e.Host // the far side
	near      *e2e.Host
	random    *mathrand.Rand
	disk      string
	number    int
	usual     time.Duration // of an export or an import
	kills     int
}

func newCarrying(t *testing.T) *carrying {
	t.Helper()
	near := e2e.NewHost(t, "m", "n")
	c := &carrying{near: near, Host: e2e.NewHostOf(t, near.Provider, "m", "n"), random: e2e.NewRandom(t), disk: e2e.NewDir(t), usual: 200 * time.Millisecond}
	c.Settings.URL = "http://127.0.0.1:1" // nothing answers there
	c.ConfigureWith("retain: 0\nretain_for: 0s")
	return c
}

// publish gives the near side the next release, in which m has new bytes and n shares some.
func (c *carrying) publish() (text string) {
	c.Helper()
	c.number++
	noise := make([]byte, 1_500_000)
	_, _ = rand.Read(noise)
	text = fmt.Sprint(c.number, base64.StdEncoding.EncodeToString(noise))
	release := fmt.Sprintf("%04d.%02d", 2000+c.number/12, c.number%12+1)
	c.near.Month("m", release, text)
	c.near.Month("n", release, "n of "+release)
	c.near.Sync(0)
	return text
}

// until runs a command and kills it at a random moment. It is true if the command ended well.
func (c *carrying) until(h *e2e.Host, args ...string) bool {
	c.Helper()
	p := h.Start(args...)
	select {
	case <-p.Done:
	case <-time.After(time.Duration(c.random.Int64N(int64(c.usual)))): // at any moment
		_ = p.Cmd.Process.Kill() // fails when it has just ended
	}
	code := p.Wait()
	if code == -1 {
		c.kills++
	}
	return code == 0
}

// export exports until that ends well. What has its name before is whole.
func (c *carrying) export(file string, args ...string) []string {
	c.Helper()
	args = append([]string{"bundle", "export", file, "--volume", "1MiB"}, args...)
	for !c.until(c.near, args...) {
		for _, name := range e2e.NamesIn(c.near, c.disk) {
			if !strings.HasPrefix(name, filepath.Base(file)) {
				continue
			}
			if data, err := os.ReadFile(filepath.Join(c.disk, name)); err != nil || len(data)%512 != 0 || !bytes.HasSuffix(data, make([]byte, 1024)) {
				c.Errorf("%s is torn: %d bytes, %v", name, len(data), err)
			}
		}
	}
	files, err := filepath.Glob(file + ".*")
	c.Must(err)
	c.near.Expect(0, append([]string{"bundle", "show"}, files...)...)
	if left, err := filepath.Glob(filepath.Join(c.disk, ".tmp-*")); err != nil || len(left) > 0 {
		c.Errorf("%v are left, %v", left, err)
	}
	return files
}

// imports imports until that ends well. What is served before is whole: before or text.
func (c *carrying) imports(files []string, before, text string) {
	c.Helper()
	args := append([]string{"bundle", "import", "--unsigned", "--quiet"}, files...)
	for !c.until(c.Host, args...) {
		if served := c.ServedContent("m"); served != before && served != text {
			c.Errorf("a file of %d bytes is served", len(served))
		}
		c.Proven()
	}
	e2e.Same(c.Host, "served", text[:20], c.ServedContent("m")[:20])
	c.Expect(0, "verify")
}

func TestKillsOfExportAndImportLoseNothing(t *testing.T) {
	t.Parallel()
	c := newCarrying(t)
	before := c.publish()
	first := filepath.Join(c.disk, "first.tar")
	c.near.Expect(0, "bundle", "export", first)
	began := time.Now()
	c.Expect(0, "bundle", "import", "--unsigned", first)
	c.usual = time.Since(began)
	for c.kills < e2e.Times(6, 200) {
		text := c.publish()
		file := filepath.Join(c.disk, fmt.Sprint(c.number, ".tar"))
		files := c.export(file)
		again := filepath.Join(c.disk, fmt.Sprint(c.number, "again.tar"))
		c.near.Expect(0, "bundle", "export", again, "--volume", "1MiB")
		for i, name := range files {
			a, err := os.ReadFile(name)
			c.Must(err)
			b, err := os.ReadFile(fmt.Sprintf("%s.%03d", again, i+1))
			c.Must(err)
			if !bytes.Equal(a, b) {
				t.Errorf("%s has other bytes than an export that nothing killed", name)
			}
		}
		c.imports(files, before, text)
		before = text
		c.Must(os.RemoveAll(c.disk))
		c.Must(os.Mkdir(c.disk, 0o755))
	}
	for dir, want := range map[string]int{"partial": 0, "generations": 1, "revisions/m": 1} {
		if names := e2e.NamesIn(c.Host, filepath.Join(c.Data, dir)); len(names) != want {
			t.Errorf("%s holds %v, want %d entries", dir, names, want)
		}
	}
	e2e.Reliability(t, "kill -9 of bundles", "exports in volumes and imports killed at a random moment", c.kills)
}

// TestPowerCutsOfBundles cuts the power during an export or an import, or right after. What
// was reported is there.
func TestPowerCutsOfBundles(t *testing.T) {
	t.Parallel()
	onEachMachine(t, func(t *testing.T, d *disk) {
		c := newCarrying(t)
		c.Data, c.disk = filepath.Join(d.root(), "data"), filepath.Join(d.root(), "out")
		c.Configure()
		before, cuts := "", e2e.Times(2, 200)
		for number := 0; number < cuts; number += 2 {
			text := c.publish()
			c.Must(os.MkdirAll(c.disk, 0o755))
			file := filepath.Join(c.disk, fmt.Sprint(c.number, ".tar"))
			if c.untilCut(d, c.near, "bundle", "export", file) {
				c.near.Expect(0, "bundle", "show", file)
			} else if _, err := os.Stat(file); err == nil {
				c.near.Expect(0, "bundle", "show", file) // it is whole, or it has no name
			}
			c.Must(os.MkdirAll(c.disk, 0o755))
			c.near.Expect(0, "bundle", "export", file)
			d.commitOthers()
			isDone := c.untilCut(d, c.Host, "bundle", "import", "--unsigned", file)
			if served := c.ServedContent("m"); isDone && served != text || served != before && served != text {
				t.Errorf("a file of %d bytes is served; reported: %v", len(served), isDone)
			}
			if _, err := os.Stat(file); err != nil {
				c.near.Expect(0, "bundle", "export", file)
			}
			c.Expect(0, "bundle", "import", "--unsigned", "--quiet", file)
			e2e.Same(c.Host, "served", text[:20], c.ServedContent("m")[:20])
			c.Proven()
			before = text
			c.Must(os.RemoveAll(c.disk))
		}
		e2e.Reliability(t, "power cuts of bundles on "+d.fs(), "power cuts while a bundle was exported or imported, or right after", cuts)
	})
}

// untilCut runs a command and cuts the power during it or right after. It is true if the
// command reported success.
func (c *carrying) untilCut(d *disk, h *e2e.Host, args ...string) bool {
	c.Helper()
	return (&destroyCuts{Host: h, disk: d, random: c.random}).untilCut(args...)
}
