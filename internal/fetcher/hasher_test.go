package fetcher

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"syncd/internal/emulator"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// slowFile takes an hour for each read.
type slowFile struct{ *dataFile }

func (s *slowFile) ReadAt(b []byte, at int64) (int, error) {
	time.Sleep(time.Hour)
	return s.dataFile.ReadAt(b, at)
}

func TestSlowReadBackStallsNoConnection(t *testing.T) {
	const size = 32 * mib
	content := readAll(t, emulator.Random(8, size))
	for _, segments := range []int{1, 4} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			file := fileOf(t, content)
			path := filepath.Join(dir, Name(file.Expected))
			for name, data := range map[string]string{
				"":              string(content[:8*mib]),
				validatorSuffix: `{"validator":"\"older\"","total":33554432,"here":[[0,1048576],[2097152,8388608]]}`,
			} {
				must(t, os.WriteFile(path+name, []byte(data), 0o600))
			}
			source := &cappedSource{contents: map[string][]byte{"": content}, rate: mib}
			d, err := newDownload(t.Context(), New(source, open(t, dir), Config{Files: 4, Segments: segments}), file, -1, &watcher{})
			must(t, err)
			defer d.partial.close()
			d.partial.hasher.file = &slowFile{d.partial.file}
			begin := time.Now()
			transfer := &transfer{download: d, partial: d.partial, segments: segments}
			must(t, transfer.run(t.Context()))
			if took := time.Since(begin); d.partial.size() != size || took > time.Minute {
				t.Errorf("%d connections received %d bytes in %v", segments, d.partial.size(), took)
			}
			if _, err := d.partial.hasher.check(file.Expected); err != nil {
				t.Errorf("%d connections: %v", segments, err)
			}
		})
	}
}

// newTestHasher returns a hasher for a file that already holds the content.
func newTestHasher(t *testing.T, content []byte) *hasher {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	must(t, err)
	t.Cleanup(func() { file.Close() })
	if _, err := file.Write(content); err != nil {
		t.Fatal(err)
	}
	return newHasher(&dataFile{file: file}, newBufferPool(), verify.NewHasher(manifest.SHA256))
}

func (h *hasher) chunkOf(content []byte, from, to int) chunk {
	b := h.buffers.get(true, 0)
	b.data = append(b.data, content[from:to]...)
	return chunk{int64(from), b}
}

func TestHasherRestoresTheOrderOfBytes(t *testing.T) {
	content := readAll(t, emulator.Random(3, 4*mib+5))
	for seed := range uint64(20) {
		h := newTestHasher(t, content)
		random := rand.New(rand.NewPCG(seed, 0))
		var adding sync.WaitGroup
		for at := 0; at < len(content); {
			n := min(1+random.IntN(bufferSize), len(content)-at)
			c, hasIdleCore := h.chunkOf(content, at, at+n), random.IntN(2) == 0
			end := c.end()
			adding.Go(func() { h.add(c, end, true, hasIdleCore) }) // in any order
			at += n
		}
		adding.Wait()
		object, err := h.check(digestOf(t, emulator.Bytes(content), manifest.SHA256))
		if err != nil || object.Size != int64(len(content)) {
			t.Errorf("seed %d: %+v, %v", seed, object, err)
		}
	}
}

func TestHasherContinuesAfterCheck(t *testing.T) {
	content := readAll(t, emulator.Random(3, 2*mib))
	h := newTestHasher(t, content)
	expected := digestOf(t, emulator.Bytes(content), manifest.SHA256)
	var mismatch *verify.Mismatch
	for at := 0; at < len(content); at += bufferSize {
		if _, err := h.check(expected); !errors.As(err, &mismatch) {
			t.Fatalf("after %d bytes: %v", at, err)
		}
		h.add(h.chunkOf(content, at, at+bufferSize), int64(at+bufferSize), false, true)
	}
	if _, err := h.check(expected); err != nil {
		t.Error(err)
	}
}

// unreadable fails the test if anything is read back.
type unreadable struct{ t *testing.T }

func (u unreadable) ReadAt(b []byte, at int64) (int, error) {
	u.t.Errorf("the bytes at %d are read back", at)
	return len(b), nil
}

func TestSingleConnectionReadsNothingBack(t *testing.T) {
	content := readAll(t, emulator.Random(3, 64*bufferSize))
	expected := digestOf(t, emulator.Bytes(content), manifest.SHA256)
	for _, hasIdleCore := range []bool{false, true} {
		h := newTestHasher(t, nil)
		h.file = unreadable{t}
		for at := 0; at < len(content); at += bufferSize { // faster than the hash
			h.add(h.chunkOf(content, at, at+bufferSize), int64(at+bufferSize), false, hasIdleCore)
		}
		if _, err := h.check(expected); err != nil {
			t.Error(err)
		}
	}
}

func TestHasherBoundsItsBacklog(t *testing.T) {
	content := readAll(t, emulator.Random(3, 32*bufferSize))
	expected := digestOf(t, emulator.Bytes(content), manifest.SHA256)
	synctest.Test(t, func(t *testing.T) {
		h := newTestHasher(t, content)
		h.file = &slowFile{h.file.(*dataFile)}
		h.add(h.chunkOf(content, bufferSize, 2*bufferSize), 2*bufferSize, true, true) // the bytes before it must be read back
		for at := 2 * bufferSize; at < len(content); at += bufferSize {
			h.add(h.chunkOf(content, at, at+bufferSize), int64(at+bufferSize), true, true)
		}
		h.mu.Lock()
		waiting := len(h.backlog)
		h.mu.Unlock()
		if waiting != maxBacklog {
			t.Errorf("%d buffers wait", waiting)
		}
		if _, err := h.check(expected); err != nil {
			t.Error(err)
		}
	})
}

func TestAbandonedHasherEndsAfterCurrentRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		content := make([]byte, 32*bufferSize)
		h := newTestHasher(t, content)
		h.file = &slowFile{h.file.(*dataFile)}
		begin := time.Now()
		h.add(h.chunkOf(content, 31*bufferSize, 32*bufferSize), 32*bufferSize, true, true)
		if h.abandon(); time.Since(begin) > time.Hour {
			t.Errorf("took %v", time.Since(begin))
		}
	})
}

func TestHasherReportsFailedReadBack(t *testing.T) {
	content := make([]byte, 2*bufferSize)
	h := newTestHasher(t, content[:bufferSize/2])
	h.add(h.chunkOf(content, bufferSize, 2*bufferSize), 2*bufferSize, true, true)
	if _, err := h.check(manifest.Digest{}); !errors.Is(err, io.EOF) || !h.file.(*dataFile).hasFailed.Load() {
		t.Errorf("got %v", err)
	}
}
