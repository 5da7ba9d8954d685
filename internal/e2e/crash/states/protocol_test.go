package states_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
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

// protocol is a piece of work: a host before it, and the command that does it.
type protocol struct {
	*e2e.Host
	args  []string
	trace *states.Trace
	judge states.Judge
}

// stateVariable holds the number of the only image to visit, which stays on disk.
const stateVariable = "SYNCD_STATE"

// record traces the work, and sees what a sync after it makes of the data directory.
func (p *protocol) record(t *testing.T) *protocol {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("NOT TESTED: no strace")
	}
	served := func() string {
		text, err := states.Served(p.Data)
		p.Must(err)
		return text
	}
	p.judge.Before = served()
	var err error
	p.trace, err = states.Record(p.Command(p.args...), p.Data)
	p.Must(err)
	p.judge.After = served()
	p.Sync(0)
	p.judge.Want, err = states.Describe(p.Data)
	p.Must(err)
	return p
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
					c.judge(image, filepath.Join(folder, "data"), &judge, enough)
				}
			}
		})
	}
	return c
}

func (c *court) judge(image *states.Image, data string, judge *states.Judge, enough int) {
	err := image.Write(data)
	if err == nil {
		err = judge.Check(image.IsReported)
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
		err = os.RemoveAll(data)
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

// configured writes the configuration for a data directory in another folder.
func (p *protocol) configured(folder string) string {
	text := strings.Replace(string(p.Read("syncd.yaml")), "data_dir: "+p.Data, "data_dir: "+filepath.Join(folder, "data"), 1)
	config := filepath.Join(folder, "syncd.yaml")
	p.Must(os.WriteFile(config, []byte(text), 0o600))
	p.Must(os.WriteFile(filepath.Join(folder, "id"), []byte(e2e.CustomerID+"\n"), 0o600))
	return config
}

// everyImage visits each image of one kind of file system, or one in some, by chance. seen
// has those that were visited before.
func (p *protocol) everyImage(system states.System, every uint64, seen map[key]bool, visit func(*states.Image)) (distinct int) {
	own := map[key]bool{}
	for point := range p.trace.Points() {
		p.trace.Each(system, point, func(image *states.Image) bool {
			key := image.Key()
			own[key] = true
			if !seen[key] {
				seen[key] = true
				if binary.BigEndian.Uint64(key[:])%every == 0 {
					visit(image)
				}
			}
			return true
		})
	}
	return len(own)
}

// visitAll judges each image of every kind of file system, or one in some.
func (p *protocol) visitAll(t *testing.T, every int) (seen map[key]bool) {
	t.Helper()
	started := time.Now()
	seen = map[key]bool{}
	c := p.convene(t, 10)
	if number := os.Getenv(stateVariable); number != "" {
		image, err := p.trace.Image(number)
		p.Must(err)
		c.images <- image
	} else {
		var counts []string
		for _, system := range states.Systems {
			n := p.everyImage(system, uint64(every), seen, func(image *states.Image) { c.images <- image })
			counts = append(counts, fmt.Sprintf("%s %d", system, n))
		}
		defer func() {
			e2e.Reliability(t, "states of a crash", fmt.Sprintf("%d points of a crash, distinct states: %s; judged in %s", p.trace.Points(), strings.Join(counts, ", "), time.Since(started).Round(time.Second)), c.judged)
		}()
	}
	for _, f := range c.end() {
		t.Errorf("%s: %v\nSYNCD_STATE=%s lays it out again", f.Number, f.err, f.Number)
	}
	return seen
}
