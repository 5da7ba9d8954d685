package e2e

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/emulator"
)

// NamesIn lists a folder.
func NamesIn(h *Host, dir string) []string {
	h.Helper()
	entries, err := os.ReadDir(filepath.Clean(dir))
	h.Must(err)
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// Proven reads current like a consumer: it resolves the symlink once and checks the
// SHA256SUMS.
func (h *Host) Proven() {
	h.Helper()
	generation, err := filepath.EvalSymlinks(filepath.Join(h.Data, "current"))
	h.Must(err)
	lists, err := filepath.Glob(filepath.Join(generation, "*.SHA256SUMS"))
	h.Must(err)
	if len(lists) == 0 {
		h.Errorf("%s is empty", generation)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		h.Must(err)
		for scanner := bufio.NewScanner(strings.NewReader(string(text))); scanner.Scan(); {
			digest, path, _ := strings.Cut(scanner.Text(), "  ")
			Same(h, path, digest, h.DigestOf(filepath.Join(generation, path)))
		}
	}
}

// BytesSent counts all bytes that the download host sent.
func (h *Host) BytesSent() (sent int64) {
	for _, r := range h.Provider.Requests() {
		if r.Host == emulator.HostDownload {
			sent += r.BytesSent
		}
	}
	return sent
}

// Served are the manifests in current.
func (h *Host) Served() (names []string) {
	h.Helper()
	for _, name := range NamesIn(h, filepath.Join(h.Data, "current")) {
		if filepath.Ext(name) == "" {
			names = append(names, name)
		}
	}
	return names
}

// SlowFile publishes one big file that arrives slowly over one connection, so that the
// size of the partial file is the number of received bytes.
func SlowFile(t *testing.T) *Host {
	t.Helper()
	h := NewHost(t, "big").WithRace()
	h.ConfigureWith("transfers: {segments: 1}")
	h.Provider.SetManifest("big", "2026.10",
		emulator.File{Name: "small", Content: emulator.Text("small")},
		emulator.File{Name: "big.dat", Content: emulator.Random(7, 64<<20)})
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindSlow, Rate: 3 << 20, Path: "*/big.dat", Host: emulator.HostDownload})
	return h
}

// Partial waits for an unfinished download of over 2 MiB and returns its size.
func (h *Host) Partial() (size int64) {
	h.Helper()
	h.Eventually("2 MiB of an unfinished download", func() bool {
		matches, _ := filepath.Glob(filepath.Join(h.Data, "partial", "*"))
		for _, path := range matches {
			if info, err := os.Stat(path); err == nil {
				size = max(size, info.Size())
			}
		}
		return size > 2<<20
	})
	return size
}

// Read is the content of a file in the host's folder.
func (h *Host) Read(name string) []byte {
	h.Helper()
	data, err := os.ReadFile(h.Path(name))
	h.Must(err)
	return data
}

// Published returns the digests of a manifest's published files by path.
func (h *Host) Published(manifest string) map[string]string {
	h.Helper()
	root := filepath.Join(h.Data, "current", manifest) + "/."
	files := map[string]string{}
	h.Must(filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		files[rel] = h.DigestOf(path)
		return err
	}))
	return files
}

// DigestOf is the SHA-256 of a file.
func (h *Host) DigestOf(path string) string {
	h.Helper()
	f, err := os.Open(path)
	h.Must(err)
	defer f.Close()
	return h.Digest(f)
}

// Digest is the SHA-256 of all that r gives.
func (h *Host) Digest(r io.Reader) string {
	h.Helper()
	digest, err := DigestOf(r)
	h.Must(err)
	return digest
}

// DigestOf is Host.Digest for any goroutine.
func DigestOf(r io.Reader) (string, error) {
	sum := sha256.New()
	_, err := io.Copy(sum, r)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// Downloads are the names of the files downloaded since the last call.
func (h *Host) Downloads() []string {
	names := []string{}
	for _, r := range h.Provider.Requests() {
		if r.Host == emulator.HostDownload {
			names = append(names, filepath.Base(r.Path))
		}
	}
	slices.Sort(names)
	h.Provider.ResetRequests()
	return names
}

// WantDownloads requires that exactly these files were downloaded since the last look.
func (h *Host) WantDownloads(names ...string) {
	h.Helper()
	if diff := cmp.Diff(append([]string{}, names...), h.Downloads()); diff != "" {
		h.Errorf("downloads (-want +got):\n%s", diff)
	}
}

// Flip changes one byte of a published file.
func (h *Host) Flip(path string) {
	h.Helper()
	path, err := filepath.EvalSymlinks(filepath.Join(h.Data, "current", path))
	h.Must(err)
	h.Must(os.Chmod(path, 0o644))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	h.Must(err)
	defer f.Close()
	var b [1]byte
	_, err = f.ReadAt(b[:], 0)
	h.Must(err)
	_, err = f.WriteAt([]byte{b[0] ^ 1}, 0)
	h.Must(err)
	h.Must(os.Chmod(path, 0o444))
}

// TextFile is a file of the provider.
func TextFile(name, text string) emulator.File {
	return emulator.File{Name: name, Content: emulator.Text(text)}
}

// ShapeOf lists the fields of a JSON object with their types.
func ShapeOf(t *testing.T, text string) []string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("not one JSON object: %v\n%s", err, text)
	}
	var lines []string
	var walk func(path string, value any)
	walk = func(path string, value any) {
		kind := map[bool]string{true: "null", false: fmt.Sprintf("%T", value)}[value == nil]
		kind = map[string]string{"float64": "number", "[]interface {}": "list", "map[string]interface {}": ""}[kind] + map[string]string{"string": "string", "bool": "bool", "null": "null"}[kind]
		if kind != "" {
			lines = append(lines, strings.TrimPrefix(path, ".")+": "+kind)
		}
		switch value := value.(type) {
		case map[string]any:
			for key, v := range value {
				walk(path+"."+key, v)
			}
		case []any:
			for _, v := range value {
				walk(path+"[]", v)
			}
		}
	}
	walk("", value)
	slices.Sort(lines)
	return slices.Compact(lines)
}

// InRevision is the path of a published file with all symlinks resolved.
func (h *Host) InRevision(path string) string {
	h.Helper()
	real, err := filepath.EvalSymlinks(filepath.Join(h.Data, "current", path))
	h.Must(err)
	return real
}

// SameFile is true for two names of one file.
func SameFile(h *Host, a, b string) bool {
	h.Helper()
	x, err := os.Stat(a)
	h.Must(err)
	y, err := os.Stat(b)
	h.Must(err)
	return os.SameFile(x, y)
}
