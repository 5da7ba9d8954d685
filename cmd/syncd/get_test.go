package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/emulator"
)

func TestGetMakesTheOutputFolder(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.expect(0, "get", "Data/2026.10/ews.txt", "Data/2026.09/Congress.csv", "-o", "new/out")
	same(h, "files", []string{"Congress.csv", "ews.txt"}, namesIn(h, h.path("new/out")))
	h.contains("a file", h.expect(1, "get", "Data/2026.10/ews.txt", "-o", "id").stderr, "--output id: not a directory: name a folder")
	h.contains("clash", h.expect(2, "get", "Data/2026.10/ews.txt", "Data/2026.08/ews.txt").stderr, "two folders")
}

// getResult is one file of `get --json`.
type getResult struct {
	Reference, Path, SHA256, Result string
	Bytes                           int64
}

func (h *host) get(args ...string) getResult {
	h.Helper()
	var out struct{ Files []getResult }
	h.must(json.Unmarshal([]byte(h.expect(0, append([]string{"get", "--json"}, args...)...).stdout), &out))
	same(h, "files", 1, len(out.Files))
	return out.Files[0]
}

func TestGetReplacesNoOtherFileUnlessForced(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	const ref = "Data/2026.10/ews.txt"
	first := h.get(ref)
	same(h, "first", []string{ref, "ews.txt", "downloaded"}, []string{first.Reference, first.Path, first.Result})
	same(h, "digest", h.digestOf(h.path("ews.txt")), first.SHA256)
	h.downloads()
	same(h, "again", "unchanged", h.get(ref).Result)
	h.write("ews.txt", "mine", 0o600)
	h.contains("other file", h.expect(1, "get", ref).stderr, "ews.txt exists and is another file: --force replaces it")
	h.wantDownloads()
	same(h, "quiet", "", h.expect(0, "get", ref, "--force", "--quiet").stdout)
	same(h, "forced", first.SHA256, h.digestOf(h.path("ews.txt")))
	h.must(os.Remove(h.path("ews.txt")))
	h.must(os.Symlink("id", h.path("ews.txt")))
	h.expect(1, "get", ref)
	h.expect(0, "get", ref, "--force")
	same(h, "not through the link", []string{"ews.txt", "id", "syncd.yaml"}, namesIn(h, h.dir))
	same(h, "id", customerID+"\n", string(h.read("id")))
}

func (h *host) read(name string) []byte {
	h.Helper()
	data, err := os.ReadFile(h.path(name))
	h.must(err)
	return data
}

func TestGetSpellsTheNameAsTheProviderDoes(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	same(h, "path", "ews.txt", h.get("data/2026.10/EWS.TXT").Path)
}

func TestGetCopiesWhatTheMirrorHas(t *testing.T) {
	t.Parallel()
	for _, hash := range []string{"SHA256", "SHA1"} {
		h := newHost(t)
		h.settings.source = "hash: " + hash
		h.configure()
		h.sync(0)
		h.downloads()
		same(h, "result", "copied", h.get("Data/2026.10/ews.txt", "-o", "a").Result)
		h.wantDownloads()
		h.flip("dq_addr_data/ews.txt")
		same(h, "of a damaged object", "downloaded", h.get("Data/2026.10/ews.txt", "-o", "b").Result)
		same(h, "files", []string{"ews.txt"}, namesIn(h, h.path("b")))
	}
}

func TestGetContinuesAnInterruptedDownload(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		h := newHost(t, "m")
		const size = 32 << 20
		h.settings.more = "transfers: {bandwidth: 4MiB, segments: 1}"
		h.configure()
		h.provider.SetManifest("m", "2026.10", emulator.File{Name: "f", Content: emulator.Random(1, size)})
		p := h.start("get", "Data/2026.10/f", "-o", "out")
		h.eventually("4 MiB of the download", func() bool {
			parts, _ := filepath.Glob(h.path("out", ".syncd-get-*", "sha256-*"))
			return slices.ContainsFunc(parts, func(part string) bool {
				info, err := os.Stat(part)
				return err == nil && info.Size() >= 4<<20
			})
		})
		p.signal(signal)
		p.wait()
		if signal == syscall.SIGTERM {
			h.contains("stderr", p.stderr.String(), "interrupted: the same command continues the download")
		}
		h.settings.more = ""
		h.configure()
		h.provider.ResetRequests()
		same(h, "result", "downloaded", h.get("Data/2026.10/f", "-o", "out").Result)
		ranges := []string{}
		for _, r := range h.provider.Requests() {
			if r.Host == emulator.HostDownload {
				ranges = append(ranges, r.Header.Get("Range"))
			}
		}
		if len(ranges) == 0 || slices.ContainsFunc(ranges, func(s string) bool { return s == "" || strings.HasPrefix(s, "bytes=0-") }) {
			t.Errorf("after %v it requested %q", signal, ranges)
		}
		same(h, "files", []string{"f"}, namesIn(h, h.path("out")))
	}
}

func TestGetForeseesTheSpace(t *testing.T) {
	h := newHost(t, "m")
	onSmallTmpfs(h)
	h.provider.SetManifest("m", "2026.10", emulator.File{Name: "f", Content: emulator.Random(1, 10<<20)})
	disk := filepath.Dir(h.data)
	h.contains("get", h.expect(1, "get", "Data/2026.10/f", "-o", disk).stderr, "needs 10 MiB", "or name another folder with --output")
	h.wantDownloads()
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Metadata/*"})
	h.contains("without Metadata", h.expect(1, "get", "Data/2026.10/f", "-o", disk).stderr, "needs 10 MiB")
	same(h, "files", 0, len(namesIn(h, disk)))
}

func TestGetRefusesAPlantedFolder(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	sum := h.get("Data/2026.10/ews.txt").SHA256
	planted := h.path("out", ".syncd-get-"+sum[:16])
	h.must(os.MkdirAll(planted, 0o755))
	h.must(os.Chmod(planted, 0o777))
	h.contains("open for others", h.expect(1, "get", "Data/2026.10/ews.txt", "-o", "out").stderr, "only this user can use: remove it")
	h.must(os.Remove(planted))
	h.must(os.Symlink(h.dir, planted))
	h.expect(1, "get", "Data/2026.10/ews.txt", "-o", "out")
	same(h, "files", fmt.Sprint([]string{filepath.Base(planted)}), fmt.Sprint(namesIn(h, h.path("out"))))
}
