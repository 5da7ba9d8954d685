package files_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// adoption is the output of `adopt --json`.
type adoption struct {
	FilesRead       int   `json:"files_read"`
	BytesRead       int64 `json:"bytes_read"`
	FilesAdopted    int   `json:"files_adopted"`
	BytesAdopted    int64 `json:"bytes_adopted"`
	FilesToDownload int   `json:"files_to_download"`
	BytesToDownload int64 `json:"bytes_to_download"`
	Manifests       []struct {
		Name, Release, Error string
		FilesAdopted         int `json:"files_adopted"`
		FilesToDownload      int `json:"files_to_download"`
		Missing              []string
	}
	Skipped      []struct{ Path, Error string }
	SkippedCount int `json:"skipped_count"`
}

func adopt(h *e2e.Host, args ...string) (a adoption) {
	h.Helper()
	out := h.Expect(0, append([]string{"adopt", "--json"}, args...)...)
	h.Must(json.Unmarshal([]byte(out.Stdout), &a))
	return a
}

// folder makes a folder with files.
func folder(h *e2e.Host, files map[string]string) string {
	h.Helper()
	dir := filepath.Join(h.Dir, "updater")
	for name, text := range files {
		h.Must(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		h.Must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

// bytesRead runs a command and returns what it read by system calls, also from sockets.
func bytesRead(h *e2e.Host, args ...string) (stdout string, read int64) {
	h.Helper()
	var out bytes.Buffer
	cmd := h.Command(args...)
	cmd.Stdout = &out
	h.Must(cmd.Start())
	h.Must(unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil))
	counters, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/io")
	h.Must(err)
	h.Must(cmd.Wait())
	_, err = fmt.Sscanf(string(counters), "rchar: %d", &read)
	h.Must(err)
	return out.String(), read
}

func TestAdoptOfAThousandFilesReadsEachByteOnceAndLeavesTheNextSyncOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	for _, hash := range []string{"SHA256", "MD5"}[e2e.Times(1, 0):] { // with MD5, it reads each file once for two digests
		t.Run(hash, func(t *testing.T) {
			t.Parallel()
			h := e2e.NewHost(t, "m")
			h.Settings.Source = "hash: " + hash
			h.Configure()
			files, local := []emulator.File{}, map[string]string{}
			const length = 64 << 10
			for i := range 1000 {
				name, text := fmt.Sprintf("f%04d.dat", i), strings.Repeat(fmt.Sprintf("file %04d ", i), length/10)
				files = append(files, emulator.File{Name: name, Content: emulator.Text(text)})
				local[name], local[name+".hash"] = text, strings.Repeat("0", 64)
			}
			h.Provider.SetManifest("m", "2026.10", files...)
			local["f0001.dat"] = strings.ToUpper(local["f0001.dat"]) // damaged
			local["f0002.dat"] = "an old one"
			delete(local, "f0003.dat")
			local["sub/linux/f0004.dat"] = local["f0004.dat"] // as by a map
			delete(local, "f0004.dat")
			dir := folder(h, local)
			before := e2e.Stats(h, dir)

			out, read := bytesRead(h, "adopt", "--json", dir)

			var a adoption
			h.Must(json.Unmarshal([]byte(out), &a))
			e2e.Same(h, "adopted", []any{997, 3}, []any{a.FilesAdopted, a.FilesToDownload})
			e2e.Same(h, "missing", []string{"f0001.dat", "f0002.dat", "f0003.dat"}, a.Manifests[0].Missing)
			wanted := int64(998 * len(local["f0001.dat"])) // with the damaged one
			e2e.Same(h, "reported", wanted, a.BytesRead)
			if answers := int64(4 << 20); read < wanted || read > wanted+answers {
				t.Errorf("read %d bytes, the files have %d", read, wanted)
			}
			e2e.Same(h, "folder", before, e2e.Stats(h, dir))
			h.Downloads()
			h.Sync(0)
			h.WantDownloads("f0001.dat", "f0002.dat", "f0003.dat")
			h.Expect(0, "verify")
			e2e.Same(h, "folder", before, e2e.Stats(h, dir))
		})
	}
}

func TestAdoptShowsBarsOnATerminal(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	h.Settings.Source = "hash: MD5" // beside SHA-256: reading takes longer
	h.Configure()
	const size = 256 << 20
	for _, name := range []string{"large.dat", "published"} {
		h.Write(name, "", 0o644)
		h.Must(os.Truncate(h.Path(name), size)) // takes no space
	}
	h.Provider.SetManifest("m", "2026.10", emulator.File{Name: "large.dat", Content: emulator.OnDisk(h.Path("published"))})
	dir := folder(h, nil)
	h.Must(os.MkdirAll(dir, 0o755))
	h.Must(os.Rename(h.Path("large.dat"), filepath.Join(dir, "large.dat")))
	screen, code := e2e.OnTerminal(h, "adopt", "--move", dir)
	e2e.Same(h, "exit code", 0, code)
	h.Contains("terminal", screen, "updater/large.dat", "total", "iB/s", "/ 256.0 MiB", "the next sync downloads nothing", "\x1b[")
}

func TestAdoptSaysWhatTheNextSyncDownloads(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	h.Provider.SetManifest("m", "2026.10", emulator.File{Name: "a", Content: emulator.Text("1")}, emulator.File{Name: "b", Content: emulator.Text("22")})
	dir := folder(h, map[string]string{"a": "1"})
	out := h.Expect(0, "adopt", "updater").Stdout
	h.Contains("adopt", out, "m  2026.10  2 files: 1 adopted (1 B), 1 to download (2 B): b", "the next sync downloads 1 file (2 B)")
	h.Must(os.WriteFile(filepath.Join(dir, "other name"), []byte("22"), 0o600))
	h.Contains("adopt again", h.Expect(0, "adopt", dir).Stdout, "the next sync downloads nothing")
	h.Downloads()
	h.Sync(0)
	h.WantDownloads()
	h.Contains("adopt of what is served", h.Expect(0, "adopt", dir).Stdout, "the next sync downloads nothing")

	h.Contains("no folder", h.Expect(1, "adopt", "nowhere").Stderr, "nowhere: no such file or directory for user")
	h.Contains("data_dir", h.Expect(1, "adopt", filepath.Join(h.Data, "objects")).Stderr, "lies in data_dir")
	h.Expect(2, "adopt")
	h.Expect(2, "adopt", dir, "m")
	h.Expect(2, "adopt", dir, "--manifest", "m", "nope")
	h.Expect(0, "adopt", dir, "--manifest", "m")
}

func TestAdoptFailsForAManifestThatTheProviderDoesNotList(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "absent", "dq_addr_data")
	h.Provider.AddSample()
	h.Contains("adopt", h.Expect(1, "adopt", folder(h, map[string]string{"x": "1"})).Stderr, "absent: nothing was adopted:")
}

func TestAdoptPassesOverLinksAndFIFOsAndItsOwnDirectory(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	h.Provider.SetManifest("m", "2026.10", emulator.File{Name: "a", Content: emulator.Text("wanted")}, emulator.File{Name: "b", Content: emulator.Text("as much")})
	h.Write("secret", "wanted", 0o644)
	dir := folder(h, map[string]string{"sub/b": "AS MUCH"})
	h.Must(os.Symlink(h.Path("secret"), filepath.Join(dir, "a")))
	h.Must(os.Symlink(h.Dir, filepath.Join(dir, "folder")))
	h.Must(syscall.Mkfifo(filepath.Join(dir, "b"), 0o644))
	a := adopt(h, dir)
	e2e.Same(h, "adopted and read", []int{0, 1}, []int{a.FilesAdopted, a.FilesRead})
	h.Sync(0)
	h.Provider.SetManifest("m", "2026.11", emulator.File{Name: "a", Content: emulator.Text("newest")})
	h.Provider.SetManifest("m", "2026.11", emulator.File{Name: "a", Content: emulator.Text("newest")}, emulator.File{Name: "c", Content: emulator.Text("third")})
	a = adopt(h, h.Dir) // it holds data_dir
	e2e.Same(h, "skipped", 1, len(a.Skipped))
	h.Contains("skipped", a.Skipped[0].Error, "it is data_dir")
}

func TestAdoptNamesOnlySomeOfTheManyFoldersThatItPassesOver(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	h.Provider.SetManifest("m", "2026.10", e2e.TextFile("a", "wanted"))
	deep := filepath.Join(folder(h, nil), strings.Repeat("d/", 64))
	for i := range 1200 {
		h.Must(os.MkdirAll(filepath.Join(deep, strconv.Itoa(i)), 0o755))
	}
	a := adopt(h, h.Path("updater"))
	e2e.Same(h, "skipped", []int{1000, 1200}, []int{len(a.Skipped), a.SkippedCount})
	h.Contains("warning", h.Expect(0, "adopt", h.Path("updater")).Stderr, "1180 more were passed over")
}

func TestAdoptWithMoveEmptiesTheFolderAndNoWriteReachesTheMirror(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	local, files := map[string]string{}, []emulator.File{}
	for _, name := range []string{"plain", "linked", "written"} {
		local[name] = "content of " + name
		files = append(files, emulator.File{Name: name, Content: emulator.Text(local[name])})
	}
	h.Provider.SetManifest("m", "2026.10", files...)
	local["unneeded"] = "other"
	dir := folder(h, local)
	h.Must(os.Link(filepath.Join(dir, "linked"), h.Path("second name")))
	writer, err := os.OpenFile(filepath.Join(dir, "written"), os.O_RDWR, 0)
	h.Must(err)
	defer writer.Close()
	plain, err := os.Stat(filepath.Join(dir, "plain"))
	h.Must(err)

	a := adopt(h, "--move", dir)

	e2e.Same(h, "adopted", []int{3, 3, 0}, []int{a.FilesAdopted, a.FilesRead, a.FilesToDownload})
	left, err := os.ReadDir(dir)
	h.Must(err)
	if len(left) != 1 || left[0].Name() != "unneeded" {
		t.Errorf("left in the folder: %v", left)
	}
	h.Must(os.WriteFile(h.Path("second name"), []byte("OVERWRITTEN BY ITS OWNER"), 0o644))
	_, err = writer.WriteAt([]byte("OVERWRITTEN"), 0)
	h.Must(err)
	h.Downloads()
	h.Sync(0)
	h.WantDownloads()
	h.Expect(0, "verify")
	served, err := os.Stat(filepath.Join(h.Data, "current", "m", "plain"))
	h.Must(err)
	if !os.SameFile(plain, served) || served.Mode() != 0o444 {
		t.Errorf("the plain file was copied, or has mode %v", served.Mode())
	}
}

func TestAdoptWorksBesideADaemonAndSparesItsRunningSync(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	h.Settings.More, h.Settings.Elapsed = "transfers: {files: 1, segments: 1}", "60s"
	h.Configure()
	text := strings.Repeat("second", 1<<19)
	open := h.GatedFile(4<<20, emulator.File{Name: "second.dat", Content: emulator.Text(text)})
	d := h.Daemon()
	h.Eventually("the download of the first file", func() bool {
		return slices.ContainsFunc(h.Provider.Requests(), func(r emulator.Request) bool { return r.Host == emulator.HostDownload })
	})

	a := adopt(h, folder(h, map[string]string{"copy": text}))

	e2e.Same(h, "adopted, to download", []int{1, 1}, []int{a.FilesAdopted, a.FilesToDownload})
	open()
	d.Logged("sync")
	h.WantDownloads("file.dat")
	h.Expect(0, "verify")
	d.Terminate()
}

func TestAdoptIsRefusedWhenTheCopiesDoNotFit(t *testing.T) {
	h := e2e.NewHost(t, "m")
	e2e.OnSmallTmpfs(h)
	text := strings.Repeat("large", 2<<20)
	h.Provider.SetManifest("m", "2026.10", emulator.File{Name: "large", Content: emulator.Text(text)})
	dir := folder(h, map[string]string{"large": text})
	h.Contains("adopt", h.Expect(1, "adopt", dir).Stderr, "needs 10 MiB", "make room on the disk of data_dir")
	if left, err := os.ReadDir(filepath.Join(h.Data, "partial")); err != nil || len(left) > 0 {
		t.Errorf("unfinished files %v, %v", left, err)
	}
}
