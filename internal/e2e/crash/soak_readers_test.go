package crash_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"syncd/internal/e2e"
)

// soakReaders read the mirror in three ways until end.
type soakReaders struct {
	*soak
	resolved, through, held atomic.Int64 // rounds
	end                     func()
}

func (r *soakReaders) String() string {
	return fmt.Sprintf("%d times all files read below a resolved current, %d times through current, %d times a file held open over 20 releases",
		r.resolved.Load(), r.through.Load(), r.held.Load())
}

// startReaders starts one reader of each kind. A reader ends at its first error.
func (s *soak) startReaders() *soakReaders {
	r, stop := &soakReaders{soak: s}, make(chan struct{})
	var group sync.WaitGroup
	for rounds, read := range map[*atomic.Int64]func(stop <-chan struct{}) error{
		&r.resolved: r.readResolved, &r.through: r.readThrough, &r.held: r.readHeld,
	} {
		group.Go(func() {
			for wait(stop, 20*time.Millisecond) {
				if err := read(stop); err != nil {
					s.Errorf("a reader: %v", err)
					return
				}
				rounds.Add(1)
			}
		})
	}
	r.end = sync.OnceFunc(func() {
		close(stop)
		group.Wait()
	})
	return r
}

// wait is false when stop is closed.
func wait(stop <-chan struct{}, d time.Duration) bool {
	select {
	case <-stop:
		return false
	case <-time.After(d):
		return true
	}
}

// readResolved resolves current once and checks its SHA256SUMS. A file may be missing
// only when the reader took longer than retain_for.
func (r *soakReaders) readResolved(<-chan struct{}) error {
	began := time.Now()
	generation, err := filepath.EvalSymlinks(filepath.Join(r.Data, "current"))
	if err != nil {
		return err
	}
	for _, name := range soakManifests {
		err := checkSums(generation, name)
		if errors.Is(err, fs.ErrNotExist) && time.Since(began) > soakRetainFor {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func checkSums(generation, manifest string) error {
	text, err := os.ReadFile(filepath.Join(generation, manifest+".SHA256SUMS"))
	if err != nil {
		return err
	}
	files := 0
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); files++ {
		want, path, _ := strings.Cut(lines.Text(), "  ")
		f, err := os.Open(filepath.Join(generation, path))
		if err != nil {
			return err
		}
		got, err := e2e.DigestOf(f)
		f.Close()
		if err != nil || got != want {
			return fmt.Errorf("%s has digest %s, want %s: %w", f.Name(), got, want, err)
		}
	}
	if want := len(soakSizes) + 1; files != want {
		return fmt.Errorf("%s: %s lists %d files, want %d", generation, manifest, files, want)
	}
	return nil
}

// readThrough opens every file by way of current.
func (r *soakReaders) readThrough(<-chan struct{}) error {
	for _, name := range soakManifests {
		sizes := map[string]int64{"shared": soakSharedSize}
		for i, size := range soakSizes {
			sizes[fmt.Sprint(name, i)] = size
		}
		for file, size := range sizes {
			content, err := os.ReadFile(filepath.Join(r.Data, "current", name, file))
			if err != nil {
				return err
			}
			if int64(len(content)) != size {
				return fmt.Errorf("%s/%s has %d bytes, want %d", name, file, len(content), size)
			}
		}
	}
	return nil
}

// readHeld keeps a file open over 20 releases and reads the same bytes again.
func (r *soakReaders) readHeld(stop <-chan struct{}) error {
	f, err := os.Open(filepath.Join(r.Data, "current", "m", "m3"))
	if err != nil {
		return err
	}
	defer f.Close()
	before, err := e2e.DigestOf(f)
	if err != nil {
		return err
	}
	for opened := r.number.Load(); r.number.Load() < opened+20; {
		if !wait(stop, 20*time.Millisecond) {
			return nil
		}
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	after, err := e2e.DigestOf(f)
	if err != nil || after != before {
		return fmt.Errorf("a file held open changed from %s to %s: %w", before, after, err)
	}
	return nil
}
