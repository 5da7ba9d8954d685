package sync_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

func TestGetMakesTheOutputFolder(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Expect(0, "get", "Data/2026.10/ews.txt", "Data/2026.09/Congress.csv", "-o", "new/out")
	e2e.Same(h, "files", []string{"Congress.csv", "ews.txt"}, e2e.NamesIn(h, h.Path("new/out")))
	h.Contains("a file", h.Expect(1, "get", "Data/2026.10/ews.txt", "-o", "id").Stderr, "--output id: not a directory: name a folder")
	h.Contains("clash", h.Expect(2, "get", "Data/2026.10/ews.txt", "Data/2026.08/ews.txt").Stderr, "two folders")
}

// getResult is one file of `get --json`.
type getResult struct {
	Reference, Path, SHA256, Result string
	Bytes                           int64
}

func get(h *e2e.Host, args ...string) getResult {
	h.Helper()
	var out struct{ Files []getResult }
	h.Must(json.Unmarshal([]byte(h.Expect(0, append([]string{"get", "--json"}, args...)...).Stdout), &out))
	e2e.Same(h, "files", 1, len(out.Files))
	return out.Files[0]
}

func TestGetReplacesNoOtherFileUnlessForced(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	const ref = "Data/2026.10/ews.txt"
	first := get(h, ref)
	e2e.Same(h, "first", []string{ref, "ews.txt", "downloaded"}, []string{first.Reference, first.Path, first.Result})
	e2e.Same(h, "digest", h.DigestOf(h.Path("ews.txt")), first.SHA256)
	h.Downloads()
	e2e.Same(h, "again", "unchanged", get(h, ref).Result)
	h.Write("ews.txt", "mine", 0o600)
	h.Contains("other file", h.Expect(1, "get", ref).Stderr, "ews.txt exists and is another file: --force replaces it")
	h.WantDownloads()
	e2e.Same(h, "quiet", "", h.Expect(0, "get", ref, "--force", "--quiet").Stdout)
	e2e.Same(h, "forced", first.SHA256, h.DigestOf(h.Path("ews.txt")))
	h.Must(os.Remove(h.Path("ews.txt")))
	h.Must(os.Symlink("id", h.Path("ews.txt")))
	h.Expect(1, "get", ref)
	h.Expect(0, "get", ref, "--force")
	e2e.Same(h, "not through the link", []string{"ews.txt", "id", "syncd.yaml"}, e2e.NamesIn(h, h.Dir))
	e2e.Same(h, "id", e2e.CustomerID+"\n", string(h.Read("id")))
}

func TestGetSpellsTheNameAsTheProviderDoes(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	e2e.Same(h, "path", "ews.txt", get(h, "data/2026.10/EWS.TXT").Path)
}

func TestGetCopiesWhatTheMirrorHas(t *testing.T) {
	t.Parallel()
	for _, hash := range []string{"SHA256", "SHA1"} {
		h := e2e.NewHost(t)
		h.Settings.Source = "hash: " + hash
		h.Configure()
		h.Sync(0)
		h.Downloads()
		e2e.Same(h, "result", "copied", get(h, "Data/2026.10/ews.txt", "-o", "a").Result)
		h.WantDownloads()
		h.Flip("dq_addr_data/ews.txt")
		e2e.Same(h, "of a damaged object", "downloaded", get(h, "Data/2026.10/ews.txt", "-o", "b").Result)
		e2e.Same(h, "files", []string{"ews.txt"}, e2e.NamesIn(h, h.Path("b")))
	}
}

func TestGetContinuesAnInterruptedDownload(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		h := e2e.NewHost(t, "m")
		const size = 32 << 20
		h.ConfigureWith("transfers: {bandwidth: 4MiB, segments: 1}")
		h.Provider.SetManifest("m", "2026.10", emulator.File{Name: "f", Content: emulator.Random(1, size)})
		p := h.Start("get", "Data/2026.10/f", "-o", "out")
		h.Eventually("4 MiB of the download", func() bool {
			parts, _ := filepath.Glob(h.Path("out", ".syncd-get-*", "sha256-*"))
			return slices.ContainsFunc(parts, func(part string) bool {
				info, err := os.Stat(part)
				return err == nil && info.Size() >= 4<<20
			})
		})
		p.Signal(signal)
		p.Wait()
		if signal == syscall.SIGTERM {
			h.Contains("stderr", p.Stderr.String(), "interrupted: the same command continues the download")
		}
		h.ConfigureWith("")
		h.Provider.ResetRequests()
		e2e.Same(h, "result", "downloaded", get(h, "Data/2026.10/f", "-o", "out").Result)
		ranges := []string{}
		for _, r := range h.Provider.Requests() {
			if r.Host == emulator.HostDownload {
				ranges = append(ranges, r.Header.Get("Range"))
			}
		}
		if len(ranges) == 0 || slices.ContainsFunc(ranges, func(s string) bool { return s == "" || strings.HasPrefix(s, "bytes=0-") }) {
			t.Errorf("after %v it requested %q", signal, ranges)
		}
		e2e.Same(h, "files", []string{"f"}, e2e.NamesIn(h, h.Path("out")))
	}
}

func TestGetForeseesTheSpace(t *testing.T) {
	h := e2e.NewHost(t, "m")
	e2e.OnSmallTmpfs(h)
	h.Provider.SetManifest("m", "2026.10", emulator.File{Name: "f", Content: emulator.Random(1, 10<<20)})
	disk := filepath.Dir(h.Data)
	h.Contains("get", h.Expect(1, "get", "Data/2026.10/f", "-o", disk).Stderr, "needs 10 MiB", "or name another folder with --output")
	h.WantDownloads()
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Metadata/*"})
	h.Contains("without Metadata", h.Expect(1, "get", "Data/2026.10/f", "-o", disk).Stderr, "needs 10 MiB")
	e2e.Same(h, "files", 0, len(e2e.NamesIn(h, disk)))
}

func TestGetRefusesAPlantedFolder(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	sum := get(h, "Data/2026.10/ews.txt").SHA256
	planted := h.Path("out", ".syncd-get-"+sum[:16])
	h.Must(os.MkdirAll(planted, 0o755))
	h.Must(os.Chmod(planted, 0o777))
	h.Contains("open for others", h.Expect(1, "get", "Data/2026.10/ews.txt", "-o", "out").Stderr, "only this user can use: remove it")
	h.Must(os.Chmod(planted, 0o700))
	h.Must(os.WriteFile(filepath.Join(planted, "of others"), nil, 0o600))
	h.Contains("another folder of this user", h.Expect(1, "get", "Data/2026.10/ews.txt", "-o", "out").Stderr, `"of others", which is no part of a download`)
	h.Must(os.Remove(filepath.Join(planted, "of others")))
	h.Must(os.Remove(planted))
	h.Must(os.Symlink(h.Dir, planted))
	h.Expect(1, "get", "Data/2026.10/ews.txt", "-o", "out")
	e2e.Same(h, "files", fmt.Sprint([]string{filepath.Base(planted)}), fmt.Sprint(e2e.NamesIn(h, h.Path("out"))))
}

// A server can send a file without an end, or announce any length.
func TestGetEndsADownloadThatGoesFarBeyondItsSize(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	const size = 160 << 20
	h.Provider.SetManifest("m", "2026.10", emulator.File{Name: "f", Content: emulator.Random(1, size)})
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/Metadata/*", Body: `{"FileSize":"1000"}`})
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/SHA256/*", Body: strings.Repeat("ab", 32)})
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindNoLength, Host: emulator.HostDownload})
	h.Contains("without a length", h.Expect(1, "get", "Data/2026.10/f").Stderr, "of a file whose size is 1000 B by its Metadata")
	h.Provider.ClearFaults()
	h.Provider.SetManifest("m", "2026.10", emulator.File{Name: "f", Content: emulator.Random(1, math.MaxInt64)})
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/Metadata/*", Body: `{"FileSize":"1000"}`})
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/SHA256/*", Body: strings.Repeat("ab", 32)})
	h.Contains("with any length", h.Expect(1, "get", "Data/2026.10/f").Stderr, "make room, or name another folder with --output")
}

// Another user may own data_dir. An object of any size there must not fill the disk that `get`
// writes to.
func TestGetLeavesAnObjectOfAnotherSize(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	e2e.OnSmallTmpfs(h)
	h.Sync(0)
	sum := h.DigestOf(filepath.Join(h.Data, "current", "dq_addr_data", "ews.txt"))
	object := filepath.Join(h.Data, "objects", sum[:2], sum)
	h.Must(os.Remove(object))
	h.Must(os.WriteFile(object, nil, 0o600))
	h.Must(os.Truncate(object, 1<<30)) // on a disk of 8 MiB
	got := get(h, "Data/2026.10/ews.txt", "-o", filepath.Join(filepath.Dir(h.Data), "out"))
	e2e.Same(h, "result", []string{"downloaded", sum}, []string{got.Result, got.SHA256})
}
