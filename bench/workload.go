package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"syncd/internal/emulator"
)

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30
)

const (
	customerID   = "BENCH-ID"
	manifestName = "bench"
	release      = "2026.10"
)

func repeat(n, size int64) []int64 {
	return slices.Repeat([]int64{size}, int(n))
}

// mixed shuffles the sizes, always in the same way. Real lists are not sorted by size,
// and a tool that fetches files in the order of the list should not suffer for it.
func mixed(sizes []int64) []int64 {
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	return sizes
}

// spread returns n sizes from smallest to largest, growing by powers of two.
func spread(n int, smallest, largest int64) []int64 {
	sizes := make([]int64, n)
	doublings := 0
	for s := smallest; s < largest; s *= 2 {
		doublings++
	}
	for i := range sizes {
		sizes[i] = smallest << (i * doublings / max(1, n-1))
	}
	return sizes
}

// served is a running emulator with one release.
type served struct {
	emulator *emulator.Emulator
	files    []servedFile
}

type servedFile struct {
	name string
	size int64
}

func (s *served) hashURL(f servedFile) string     { return s.url("SHA256", f) }
func (s *served) downloadURL(f servedFile) string { return s.url("Download", f) }

func (s *served) url(endpoint string, f servedFile) string {
	return fmt.Sprintf("%s/%s/Data/%s/%s?id=%s", s.emulator.URL(), endpoint, release, f.name, customerID)
}

// serve starts the emulator with one manifest of files of these sizes.
func (b bench) serve(ctx context.Context, sizes []int64, over link) (*served, error) {
	s, err := start(over)
	if err != nil {
		return nil, err
	}
	var files []emulator.File
	for i, size := range sizes {
		f, err := b.file(i, size)
		if err != nil {
			s.emulator.Close()
			return nil, err
		}
		files = append(files, f)
		s.files = append(s.files, servedFile{f.Name, size})
	}
	s.emulator.SetManifest(manifestName, release, files...)
	if err := s.hashAll(ctx); err != nil {
		s.emulator.Close()
		return nil, err
	}
	return s, nil
}

func start(over link) (*served, error) {
	cfg := emulator.Config{CustomerID: customerID}
	if over != (link{}) {
		cfg.Wrap = over.wrap
	}
	e, err := emulator.Start(cfg)
	if err != nil {
		return nil, err
	}
	return &served{emulator: e}, nil
}

// file returns a file whose random content depends only on its number and size. Large
// contents lie on disk and are sent by sendfile, so that generating bytes costs the
// server nothing during a run.
func (b bench) file(number int, size int64) (emulator.File, error) {
	f := emulator.File{Name: fmt.Sprintf("file%06d.dat", number)}
	random, err := emulator.Random(uint64(number+1), size).Open()
	if err != nil {
		return f, err
	}
	defer random.Close()
	if size <= mib {
		data, err := io.ReadAll(random)
		f.Content = emulator.Bytes(data)
		return f, err
	}
	path := filepath.Join(b.work, "contents", f.Name)
	f.Content = emulator.OnDisk(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return f, err
	}
	to, err := os.Create(path)
	if err != nil {
		return f, err
	}
	defer to.Close()
	_, err = io.CopyBuffer(struct{ io.Writer }{to}, random, make([]byte, mib))
	return f, err
}

// hashAll requests the digest of every large file once, so that the server has computed
// it before the first run. Small files are hashed in the round that does not count.
func (s *served) hashAll(ctx context.Context) error {
	for _, f := range s.files {
		if f.size <= mib {
			continue
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.hashURL(f), nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			return fmt.Errorf("digest of %s: status %s: %w", f.name, res.Status, err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	return nil
}

// sent counts the body bytes that a host has sent since the log was reset; "" means
// all hosts.
func (s *served) sent(host string) (total int64) {
	for _, r := range s.emulator.Requests() {
		if host == "" || r.Host == host {
			total += r.BytesSent
		}
	}
	return total
}
