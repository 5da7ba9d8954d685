package states_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"syncd/internal/e2e"
	"syncd/internal/e2e/crash/states"
)

// protocol is a piece of work: a host before it, and the command that does it. Everything that
// the work may change lies in one folder.
type protocol struct {
	*e2e.Host
	disk  string
	args  []string
	trace *states.Trace
	judge states.Judge
	limit int // of images that are read at one point of a crash; above it, they are a random sample
}

// stateVariable holds the number of the only image to visit, which stays on disk.
const stateVariable = "SYNCD_STATE"

// on returns a protocol whose disk is a folder in memory.
func on(h *e2e.Host) *protocol {
	h.Helper()
	p := &protocol{Host: h, disk: memory(h.T), args: []string{"sync", "--json"}, limit: 1 << 20}
	h.Data = filepath.Join(p.disk, "data")
	h.Must(os.Mkdir(h.Data, 0o755))
	h.Configure()
	return p
}

// does names the command that does the work.
func (p *protocol) does(args ...string) *protocol {
	p.args = args
	return p
}

// record traces the work, and sees what a sync makes of the disk without and with it.
func (p *protocol) record(t *testing.T) *protocol {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("NOT TESTED: no strace")
	}
	before := *p
	host := *p.Host
	folder := memory(t)
	before.Host, before.disk = &host, filepath.Join(folder, "disk")
	host.Dir, host.Data = folder, filepath.Join(before.disk, "data")
	p.configured(folder)
	if out, err := exec.Command("cp", "-a", p.disk, before.disk).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v\n%s", err, out)
	}
	p.judge.Before = before.outcome()
	var err error
	p.trace, err = states.Record(p.Command(p.args...), p.disk)
	p.Must(err)
	p.judge.After = p.outcome()
	return p
}

// outcome is what readers see, and what the next sync makes of it.
func (p *protocol) outcome() (o states.Outcome) {
	p.Helper()
	var err error
	o.Served, err = states.Served(p.Data)
	p.Must(err)
	p.Sync(0)
	o.Ends, err = states.Served(p.Data)
	p.Must(err)
	o.Want, err = states.Describe(p.disk, p.Data)
	p.Must(err)
	return o
}

type key = [sha256.Size]byte

// finding is an image in which something is lost.
type finding struct {
	*states.Image
	err error
}

// court judges images in several folders at once.
type court struct {
	*protocol
	images chan *states.Image
	group  sync.WaitGroup
	cancel context.CancelFunc
	ctx    context.Context // ends at the first finding

	mu       sync.Mutex
	findings []finding
	judged   int
}

// convene starts judges. Images that come after enough findings are not looked at.
func (p *protocol) convene(t *testing.T, enough int) *court {
	t.Helper()
	c := &court{protocol: p, images: make(chan *states.Image)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	for range runtime.GOMAXPROCS(0) {
		folder := memory(t)
		config := p.configured(folder)
		c.group.Go(func() {
			judge := p.judge
			judge.Config = config
			for image := range c.images {
				if c.ctx.Err() == nil {
					c.judge(image, filepath.Join(folder, "disk"), &judge, enough)
				}
			}
		})
	}
	return c
}

func (c *court) judge(image *states.Image, disk string, judge *states.Judge, enough int) {
	err := image.Write(disk)
	if err == nil {
		err = judge.Check(disk, image.IsReported)
	}
	c.mu.Lock()
	c.judged++
	if err != nil {
		c.findings = append(c.findings, finding{image, err})
		if len(c.findings) >= enough {
			c.cancel()
		}
	}
	c.mu.Unlock()
	if os.Getenv(stateVariable) == "" {
		err = os.RemoveAll(disk)
	}
	if err != nil && c.ctx.Err() == nil {
		c.Error(err)
	}
}

// end waits for the judges.
func (c *court) end() []finding {
	close(c.images)
	c.group.Wait()
	c.cancel()
	return c.findings
}

// memory is a folder on tmpfs, where fsync costs nothing, if this machine has one.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "syncd-states-")
	if err != nil {
		return e2e.NewDir(t)
	}
	t.Cleanup(func() {
		if os.Getenv(stateVariable) == "" {
			os.RemoveAll(dir)
		}
	})
	return dir
}

// configured writes the configuration for a copy of the disk in another folder.
func (p *protocol) configured(folder string) string {
	text := strings.ReplaceAll(string(p.Read("syncd.yaml")), p.disk, filepath.Join(folder, "disk"))
	config := filepath.Join(folder, "syncd.yaml")
	p.Must(os.WriteFile(config, []byte(text), 0o600))
	p.Must(os.WriteFile(filepath.Join(folder, "id"), []byte(e2e.CustomerID+"\n"), 0o600))
	return config
}

// everyImage visits each image of one kind of file system, or one in some, by chance. seen has
// those that were visited before. isCut is true when there were too many to read all.
func (p *protocol) everyImage(system states.System, every uint64, seen map[key]bool, visit func(*states.Image)) (distinct int, isCut bool) {
	own := map[key]bool{}
	look := func(image *states.Image) {
		key := image.Key()
		own[key] = true
		if !seen[key] {
			seen[key] = true
			if binary.BigEndian.Uint64(key[:])%every == 0 {
				visit(image)
			}
		}
	}
	for point := range p.trace.Points() {
		n := 0
		p.trace.Each(system, point, func(image *states.Image) bool {
			look(image)
			n++
			return n < p.limit
		})
		if n == p.limit {
			isCut = true
			p.trace.Sample(system, point, n, rand.New(rand.NewPCG(uint64(point), 1)), look)
		}
	}
	return len(own), isCut
}

// visitAll judges each image of every kind of file system, or one in some.
func (p *protocol) visitAll(t *testing.T, every int) (seen map[key]bool) {
	t.Helper()
	started := time.Now()
	seen = map[key]bool{}
	c := p.convene(t, 5)
	var counts []string
	if number := os.Getenv(stateVariable); number != "" {
		image, err := p.trace.Image(number)
		p.Must(err)
		c.images <- image
	} else {
		for _, system := range states.Systems {
			n, isCut := p.everyImage(system, uint64(every), seen, func(image *states.Image) { c.images <- image })
			text := fmt.Sprintf("%s %d", system, n)
			if isCut {
				text += " and more"
			}
			counts = append(counts, text)
		}
	}
	for _, f := range c.end() {
		t.Errorf("%s, reported: %t: %v\nSYNCD_STATE=%s lays it out again", f.Number, f.IsReported, f.err, f.Number)
	}
	e2e.Reliability(t, "states of a crash: "+t.Name(), fmt.Sprintf("%d points of a crash, distinct states: %s; judged in %s", p.trace.Points(), strings.Join(counts, ", "), time.Since(started).Round(time.Second)), c.judged)
	return seen
}
