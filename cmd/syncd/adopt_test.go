package main

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

func (h *host) adopt(args ...string) (a adoption) {
	h.Helper()
	out := h.expect(0, append([]string{"adopt", "--json"}, args...)...)
	h.must(json.Unmarshal([]byte(out.stdout), &a))
	return a
}

// folder makes a folder with files.
func (h *host) folder(files map[string]string) string {
	h.Helper()
	dir := filepath.Join(h.dir, "updater")
	for name, text := range files {
		h.must(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		h.must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

// stats describes every file of a folder: inode, mode, names and times.
func stats(h *host, dir string) map[string]string {
	all := map[string]string{}
	h.must(filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		h.must(err)
		st := info.Sys().(*syscall.Stat_t)
		all[path] = fmt.Sprint(st.Ino, info.Mode(), st.Nlink, st.Size, st.Mtim, st.Ctim)
		return nil
	}))
	return all
}

// bytesRead runs a command and returns what it read by system calls, also from sockets.
func (h *host) bytesRead(args ...string) (stdout string, read int64) {
	h.Helper()
	var out bytes.Buffer
	cmd := h.command(args...)
	cmd.Stdout = &out
	h.must(cmd.Start())
	h.must(unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil))
	counters, err := os.ReadFile("/proc/" + itoa(cmd.Process.Pid) + "/io")
	h.must(err)
	h.must(cmd.Wait())
	_, err = fmt.Sscanf(string(counters), "rchar: %d", &read)
	h.must(err)
	return out.String(), read
}

func TestAdoptOfAThousandFilesReadsEachByteOnceAndLeavesTheNextSyncOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	for _, hash := range []string{"SHA256", "MD5"}[times(1, 0):] { // with MD5, it reads each file once for two digests
		t.Run(hash, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, "m")
			h.settings.source = "hash: " + hash
			h.configure()
			files, local := []emulator.File{}, map[string]string{}
			const length = 64 << 10
			for i := range 1000 {
				name, text := fmt.Sprintf("f%04d.dat", i), strings.Repeat(fmt.Sprintf("file %04d ", i), length/10)
				files = append(files, emulator.File{Name: name, Content: emulator.Text(text)})
				local[name], local[name+".hash"] = text, strings.Repeat("0", 64)
			}
			h.provider.SetManifest("m", "2026.10", files...)
			local["f0001.dat"] = strings.ToUpper(local["f0001.dat"]) // damaged
			local["f0002.dat"] = "an old one"
			delete(local, "f0003.dat")
			local["sub/linux/f0004.dat"] = local["f0004.dat"] // as by a map
			delete(local, "f0004.dat")
			dir := h.folder(local)
			before := stats(h, dir)

			out, read := h.bytesRead("adopt", "--json", dir)

			var a adoption
			h.must(json.Unmarshal([]byte(out), &a))
			same(h, "adopted", []any{997, 3}, []any{a.FilesAdopted, a.FilesToDownload})
			same(h, "missing", []string{"f0001.dat", "f0002.dat", "f0003.dat"}, a.Manifests[0].Missing)
			wanted := int64(998 * len(local["f0001.dat"])) // with the damaged one
			same(h, "reported", wanted, a.BytesRead)
			if answers := int64(4 << 20); read < wanted || read > wanted+answers {
				t.Errorf("read %d bytes, the files have %d", read, wanted)
			}
			same(h, "folder", before, stats(h, dir))
			h.downloads()
			h.sync(0)
			h.wantDownloads("f0001.dat", "f0002.dat", "f0003.dat")
			h.expect(0, "verify")
			same(h, "folder", before, stats(h, dir))
		})
	}
}

func TestAdoptShowsBarsOnATerminal(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m")
	h.settings.source = "hash: MD5" // beside SHA-256: reading takes longer
	h.configure()
	const size = 256 << 20
	for _, name := range []string{"large.dat", "published"} {
		h.write(name, "", 0o644)
		h.must(os.Truncate(h.path(name), size)) // takes no space
	}
	h.provider.SetManifest("m", "2026.10", emulator.File{Name: "large.dat", Content: emulator.OnDisk(h.path("published"))})
	dir := h.folder(nil)
	h.must(os.MkdirAll(dir, 0o755))
	h.must(os.Rename(h.path("large.dat"), filepath.Join(dir, "large.dat")))
	screen, code := h.onTerminal("adopt", "--move", dir)
	same(h, "exit code", 0, code)
	h.contains("terminal", screen, "updater/large.dat", "total", "iB/s", "/ 256.0 MiB", "the next sync downloads nothing", "\x1b[")
}

func TestAdoptSaysWhatTheNextSyncDownloads(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m")
	h.provider.SetManifest("m", "2026.10", emulator.File{Name: "a", Content: emulator.Text("1")}, emulator.File{Name: "b", Content: emulator.Text("22")})
	dir := h.folder(map[string]string{"a": "1"})
	out := h.expect(0, "adopt", "updater").stdout
	h.contains("adopt", out, "m  2026.10  2 files: 1 adopted (1 B), 1 to download (2 B): b", "the next sync downloads 1 file (2 B)")
	h.must(os.WriteFile(filepath.Join(dir, "other name"), []byte("22"), 0o600))
	h.contains("adopt again", h.expect(0, "adopt", dir).stdout, "the next sync downloads nothing")
	h.downloads()
	h.sync(0)
	h.wantDownloads()
	h.contains("adopt of what is served", h.expect(0, "adopt", dir).stdout, "the next sync downloads nothing")

	h.contains("no folder", h.expect(1, "adopt", "nowhere").stderr, "nowhere: no such file or directory for user")
	h.contains("data_dir", h.expect(1, "adopt", filepath.Join(h.data, "objects")).stderr, "lies in data_dir")
	h.expect(2, "adopt")
	h.expect(2, "adopt", dir, "m")
	h.expect(2, "adopt", dir, "--manifest", "m", "nope")
	h.expect(0, "adopt", dir, "--manifest", "m")
}

func TestAdoptFailsForAManifestThatTheProviderDoesNotList(t *testing.T) {
	t.Parallel()
	h := newHost(t, "absent", "dq_addr_data")
	h.provider.AddSample()
	h.contains("adopt", h.expect(1, "adopt", h.folder(map[string]string{"x": "1"})).stderr, "absent: nothing was adopted:")
}

func TestAdoptPassesOverLinksAndFIFOsAndItsOwnDirectory(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m")
	h.provider.SetManifest("m", "2026.10", emulator.File{Name: "a", Content: emulator.Text("wanted")}, emulator.File{Name: "b", Content: emulator.Text("as much")})
	h.write("secret", "wanted", 0o644)
	dir := h.folder(map[string]string{"sub/b": "AS MUCH"})
	h.must(os.Symlink(h.path("secret"), filepath.Join(dir, "a")))
	h.must(os.Symlink(h.dir, filepath.Join(dir, "folder")))
	h.must(syscall.Mkfifo(filepath.Join(dir, "b"), 0o644))
	a := h.adopt(dir)
	same(h, "adopted and read", []int{0, 1}, []int{a.FilesAdopted, a.FilesRead})
	h.sync(0)
	h.provider.SetManifest("m", "2026.11", emulator.File{Name: "a", Content: emulator.Text("newest")})
	h.provider.SetManifest("m", "2026.11", emulator.File{Name: "a", Content: emulator.Text("newest")}, emulator.File{Name: "c", Content: emulator.Text("third")})
	a = h.adopt(h.dir) // it holds data_dir
	same(h, "skipped", 1, len(a.Skipped))
	h.contains("skipped", a.Skipped[0].Error, "it is data_dir")
}

func TestAdoptNamesOnlySomeOfTheManyFoldersThatItPassesOver(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m")
	h.provider.SetManifest("m", "2026.10", textFile("a", "wanted"))
	deep := filepath.Join(h.folder(nil), strings.Repeat("d/", 64))
	for i := range 1200 {
		h.must(os.MkdirAll(filepath.Join(deep, strconv.Itoa(i)), 0o755))
	}
	a := h.adopt(h.path("updater"))
	same(h, "skipped", []int{1000, 1200}, []int{len(a.Skipped), a.SkippedCount})
	h.contains("warning", h.expect(0, "adopt", h.path("updater")).stderr, "1180 more were passed over")
}

func TestAdoptWithMoveEmptiesTheFolderAndNoWriteReachesTheMirror(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m")
	local, files := map[string]string{}, []emulator.File{}
	for _, name := range []string{"plain", "linked", "written"} {
		local[name] = "content of " + name
		files = append(files, emulator.File{Name: name, Content: emulator.Text(local[name])})
	}
	h.provider.SetManifest("m", "2026.10", files...)
	local["unneeded"] = "other"
	dir := h.folder(local)
	h.must(os.Link(filepath.Join(dir, "linked"), h.path("second name")))
	writer, err := os.OpenFile(filepath.Join(dir, "written"), os.O_RDWR, 0)
	h.must(err)
	defer writer.Close()
	plain, err := os.Stat(filepath.Join(dir, "plain"))
	h.must(err)

	a := h.adopt("--move", dir)

	same(h, "adopted", []int{3, 3, 0}, []int{a.FilesAdopted, a.FilesRead, a.FilesToDownload})
	left, err := os.ReadDir(dir)
	h.must(err)
	if len(left) != 1 || left[0].Name() != "unneeded" {
		t.Errorf("left in the folder: %v", left)
	}
	h.must(os.WriteFile(h.path("second name"), []byte("OVERWRITTEN BY ITS OWNER"), 0o644))
	_, err = writer.WriteAt([]byte("OVERWRITTEN"), 0)
	h.must(err)
	h.downloads()
	h.sync(0)
	h.wantDownloads()
	h.expect(0, "verify")
	served, err := os.Stat(filepath.Join(h.data, "current", "m", "plain"))
	h.must(err)
	if !os.SameFile(plain, served) || served.Mode() != 0o444 {
		t.Errorf("the plain file was copied, or has mode %v", served.Mode())
	}
}

func TestAdoptWorksBesideADaemonAndSparesItsRunningSync(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m")
	h.settings.more, h.settings.elapsed = "transfers: {files: 1, segments: 1}", "60s"
	h.configure()
	text := strings.Repeat("second", 1<<19)
	open := h.gatedFile(4<<20, emulator.File{Name: "second.dat", Content: emulator.Text(text)})
	d := h.daemon()
	h.eventually("the download of the first file", func() bool {
		return slices.ContainsFunc(h.provider.Requests(), func(r emulator.Request) bool { return r.Host == emulator.HostDownload })
	})

	a := h.adopt(h.folder(map[string]string{"copy": text}))

	same(h, "adopted, to download", []int{1, 1}, []int{a.FilesAdopted, a.FilesToDownload})
	open()
	d.logged("sync")
	h.wantDownloads("file.dat")
	h.expect(0, "verify")
	d.terminate()
}

func TestAdoptIsRefusedWhenTheCopiesDoNotFit(t *testing.T) {
	h := newHost(t, "m")
	onSmallTmpfs(h)
	text := strings.Repeat("large", 2<<20)
	h.provider.SetManifest("m", "2026.10", emulator.File{Name: "large", Content: emulator.Text(text)})
	dir := h.folder(map[string]string{"large": text})
	h.contains("adopt", h.expect(1, "adopt", dir).stderr, "needs 10 MiB", "make room on the disk of data_dir")
	if left, err := os.ReadDir(filepath.Join(h.data, "partial")); err != nil || len(left) > 0 {
		t.Errorf("unfinished files %v, %v", left, err)
	}
}
