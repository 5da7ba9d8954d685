package sync_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

func TestSecondSyncDoesNothing(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Settings.Manifests = []string{"dq_addr_data", "dq_addr_bins"}
	h.Configure()

	first := h.Expect(0, "sync")
	h.Contains("sync", first.Stdout, "dq_addr_data  2026.10-", "updated: 5 of 5 files downloaded", "dq_addr_bins  2026.10-", "generation 1 is served")
	e2e.Same(h, "current", "generations/000001", h.Current())
	if got := len(h.Downloads()); got != 12 {
		t.Errorf("%d downloads, want 5 + 7", got)
	}
	data := h.Published("dq_addr_data")
	e2e.Same(h, "files", []string{"Congress.csv", "ews.txt", "mdAddr.dat", "mdAddr.lic", "mdAddrKey.db"}, sortedKeys(data))
	e2e.Same(h, "files", []string{
		"interfaces/any/python/any/mdAddr_pythoncode.py",
		"interfaces/linux/java/64bit/libmdAddrJavaWrapper.so",
		"interfaces/linux/python/64bit/libmdAddrPythonWrapper.so",
		"linux/gcc48/32bit/libmdAddr.so",
		"linux/gcc48/64bit/libmdAddr.so",
		"windows/dll/64bit/mdAddr.dll",
		"zlinux/gcc48/64bit/libmdAddr.so",
	}, sortedKeys(h.Published("dq_addr_bins")))

	before := tree(t, h.Data)
	second := h.Expect(0, "sync")
	h.Contains("sync", second.Stdout, "dq_addr_data", "unchanged: 5 files", "generation 1 stays")
	h.WantDownloads()
	e2e.Same(h, "data directory", before, tree(t, h.Data))
}

func TestOnlyTheChangedFileIsDownloaded(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	path := filepath.Join(h.Data, "current", "dq_addr_data", "mdAddr.dat")
	old := h.DigestOf(path)
	reader, err := os.Open(path)
	h.Must(err)
	defer reader.Close()
	h.Downloads()

	release := h.Provider.AdvanceSample()
	r := h.Sync(0)

	h.WantDownloads("mdAddr.dat")
	m := r.Manifests[0]
	e2e.Same(h, "report", []any{2, true, release, "updated", 5, 1, 4},
		[]any{r.Generation, r.Changed, m.Release, m.Result, m.FilesTotal, m.FilesDownloaded, m.FilesReused})
	if h.DigestOf(path) == old {
		t.Error("current still shows the old file")
	}
	if h.Digest(reader) != old {
		t.Error("the open file changed under its reader")
	}
	if _, err := reader.Seek(0, io.SeekStart); err != nil {
		t.Error(err)
	}
}

func TestRepublishedReleaseIsAnotherRevision(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	h.Provider.SetManifest("m", "2026.10", emulator.File{Name: "a", Content: emulator.Text("1")}, emulator.File{Name: "b", Content: emulator.Text("2")})
	first := h.Sync(0).Manifests[0]
	h.Provider.SetManifest("m", "2026.10", emulator.File{Name: "a", Content: emulator.Text("1")}, emulator.File{Name: "b", Content: emulator.Text("3")})
	h.Downloads()

	second := h.Sync(0)

	h.WantDownloads("b")
	m := second.Manifests[0]
	if second.Generation != 2 || m.Release != first.Release || m.Revision == first.Revision {
		t.Errorf("after %+v: %+v", first, second)
	}
	for _, revision := range []string{first.Revision, m.Revision} {
		if _, err := os.Stat(filepath.Join(h.Data, "revisions", "m", "2026.10-"+revision)); err != nil {
			t.Error(err)
		}
	}
}

func TestSha256sumVerifiesCurrent(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Settings.Manifests = []string{"dq_addr_data", "dq_addr_bins"}
	h.Configure()
	for _, m := range h.Sync(0).Manifests {
		check := exec.Command("sha256sum", "--strict", "-c", m.Name+".SHA256SUMS")
		check.Dir = filepath.Join(h.Data, "current")
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("sha256sum -c: %v\n%s", err, out)
		}
		e2e.Same(h, "revision of "+m.Name, revisionOf(h.Published(m.Name)), m.Revision)
		link, err := os.Readlink(filepath.Join(h.Data, "current", m.Name))
		h.Must(err)
		e2e.Same(h, "link", "../../revisions/"+m.Name+"/2026.10-"+m.Revision, link)
	}
}

// revisionOf repeats the rule of the contract.
func revisionOf(files map[string]string) string {
	var lines []string
	for path, digest := range files {
		lines = append(lines, digest+"  "+path+"\n")
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:])[:12]
}

func TestRecordDescribesTheServedRevision(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	m := h.Sync(0).Manifests[0]
	data, err := os.ReadFile(filepath.Join(h.Data, "current", "dq_addr_data.json"))
	h.Must(err)
	var record struct {
		Source, Release, Revision, Version string
		Files                              []struct {
			Path, SHA256 string
			Size         int64
		}
	}
	h.Must(json.Unmarshal(data, &record))
	e2e.Same(h, "record", []string{h.Provider.URL(), m.Release, m.Revision}, []string{record.Source, record.Release, record.Revision})
	digests := map[string]string{}
	for _, f := range record.Files {
		digests[f.Path] = f.SHA256
	}
	e2e.Same(h, "digests", h.Published("dq_addr_data"), digests)
}

func TestModesDoNotDependOnTheUmask(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Settings.Manifests = []string{"dq_addr_data", "dq_addr_bins"}
	h.Configure()
	h.Umask = "077"
	h.Sync(0)
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 500, Host: emulator.HostDownload})
	h.Provider.AdvanceSample()
	h.Sync(1) // leaves an unfinished download
	h.Provider.ClearFaults()
	h.Sync(0)
	h.Must(filepath.WalkDir(h.Data, func(path string, entry fs.DirEntry, err error) error {
		h.Must(err)
		info, err := entry.Info()
		h.Must(err)
		rel, err := filepath.Rel(h.Data, path)
		h.Must(err)
		if want, fixed := modeOf(rel, info); fixed && info.Mode().Perm() != want {
			t.Errorf("%s has mode %#o, want %#o", rel, info.Mode().Perm(), want)
		}
		if target, err := os.Readlink(path); err == nil && filepath.IsAbs(target) {
			t.Errorf("%s is an absolute symlink to %s", rel, target)
		}
		return nil
	}))
}

// modeOf is the mode that the contract gives to a name in the data directory.
func modeOf(rel string, info fs.FileInfo) (fs.FileMode, bool) {
	top, _, below := strings.Cut(rel, "/")
	switch {
	case info.Mode()&fs.ModeSymlink != 0, below && (top == "state" || top == "partial"):
		return 0, false
	case top == "state" || top == "partial":
		return 0o700, true
	case info.IsDir():
		return 0o755, true
	}
	return 0o444, true
}

func TestSyncJSONHasTheContractsFields(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	out := h.Expect(0, "sync", "--json")
	e2e.Same(h, "sync --json", []string{
		"changed: bool", "generation: number", "manifests: list",
		"manifests[].bytes_downloaded: number", "manifests[].bytes_reused: number", "manifests[].duration_seconds: number",
		"manifests[].error: string", "manifests[].files_downloaded: number", "manifests[].files_reused: number",
		"manifests[].files_total: number", "manifests[].name: string", "manifests[].reason: string",
		"manifests[].release: string", "manifests[].result: string", "manifests[].revision: string",
	}, e2e.ShapeOf(t, out.Stdout))
}

func TestQuietSyncPrintsNothingButErrors(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	r := h.Expect(0, "sync", "--quiet")
	e2e.Same(h, "output", "", r.Stdout+r.Stderr)
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404})
	r = h.Expect(1, "sync", "--quiet")
	e2e.Same(h, "stdout", "", r.Stdout)
	h.Contains("stderr", r.Stderr, "syncd: dq_addr_data: failed:")
}

func TestDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	r := h.Expect(0, "sync", "--dry-run")
	h.Contains("dry run", r.Stdout, "would be updated: 5 of 5 files to download", "dry run: nothing was changed, and nothing is served yet")
	h.WantDownloads()
	e2e.Same(h, "files after a first dry run", []string{".syncd-data-dir"}, treeFiles(t, h.Data))

	h.Sync(0)
	release := h.Provider.AdvanceSample()
	before := tree(t, h.Data)
	h.Downloads()
	planned := h.Sync(0, "--dry-run")
	m := planned.Manifests[0]
	e2e.Same(h, "plan", []any{1, false, release, "updated", 5, 1}, []any{planned.Generation, planned.Changed, m.Release, m.Result, m.FilesTotal, m.FilesDownloaded})
	h.WantDownloads()
	e2e.Same(h, "data directory", before, tree(t, h.Data))
	s := h.Status()
	e2e.Same(h, "state", "in_sync", s.Manifests[0].State)
}

func TestUnknownManifestsAndFlagsAreUsageErrors(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	for _, args := range [][]string{
		{"sync", "nope"}, {"sync", "dq_addr_data", "nope"}, {"verify", "nope"}, {"rollback", "--manifest", "nope"},
		{"rollback", "first"}, {"rollback", "0"}, {"rollback", "-1"}, {"rollback", "1", "2"},
		{"sync", "--nope"}, {"nope"}, {"run", "nope"}, {"status", "nope"}, {"config", "nope"}, {"config", "check", "nope"},
		{"releases"}, {"releases", "a", "b"}, {"files"}, {"files", "m", "soon"}, {"manifests", "soon"}, {"get"}, {"version", "nope"},
		{"emulator", "--fault", "kind=nope"}, {"completion", "nope"}, {"demo", "nope"}, {"healthcheck", "nope"},
	} {
		r := h.Syncd(args...)
		if r.Code != 2 || r.Stderr == "" {
			t.Errorf("syncd %q: exit %d, stderr %q; want exit 2 and a message", args, r.Code, r.Stderr)
		}
	}
}

func TestUsageErrorsShowTheFormOfTheCommand(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"releases"}, "got 0, but the form is `syncd releases MANIFEST`\nRun 'syncd releases --help' for usage.\n"},
		{[]string{"status", "x"}, "got 1, but the form is `syncd status`\n"},
		{[]string{"config", "check", "x"}, "got 1, but the form is `syncd config check`\n"},
		{[]string{"files", "a", "b", "c"}, "got 3, but the form is `syncd files MANIFEST [RELEASE]`\n"},
		{[]string{"rollback", "1", "2"}, "takes one generation, not 1 and 2\n"},
		{[]string{"sync", "--force=maybe"}, "--force: \"maybe\" is not a value of this flag\n"},
	} {
		h.Contains(strings.Join(row.args, " "), h.Expect(2, row.args...).Stderr, row.want)
	}
}

func TestOneBadManifestDoesNotHoldUpAnother(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Settings.Manifests = []string{"absent", "dq_addr_data"}
	h.Configure()
	r := h.Sync(1)
	e2e.Same(h, "results", []string{"failed", "updated"}, []string{r.Manifests[0].Result, r.Manifests[1].Result})
	e2e.Same(h, "generation", 1, r.Generation)
	out := h.Expect(1, "sync")
	h.Contains("stderr", out.Stderr, "syncd: absent: failed:")
	h.Expect(0, "sync", "dq_addr_data")
}

func TestRefusalsKeepTheOldDataAndNameTheReason(t *testing.T) {
	t.Parallel()
	file := func(name, text string) emulator.File { return emulator.File{Name: name, Content: emulator.Text(text)} }
	link := func(path string) string { return "http://elsewhere.example/Download/Data/2026.11/" + path + "?ID=1" }
	for _, test := range []struct {
		name, reason string
		forced       bool // --force overrides it
		provoke      func(p *emulator.Emulator)
	}{
		{"a list that lost most of its files", "shrink", true, func(p *emulator.Emulator) { p.SetManifest("m", "2026.11", file("a", "new")) }},
		{"an older newest release", "downgrade", true, func(p *emulator.Emulator) {
			p.SetManifest("m", "2026.09", file("a", "1"), file("b", "2"), file("c", "3"))
			p.RemoveRelease("m", "2026.10")
		}},
		{"an empty list", "empty", false, func(p *emulator.Emulator) { p.SetLinks("m", "2026.11") }},
		{"a name with a slash", "bad_name", false, func(p *emulator.Emulator) { p.SetLinks("m", "2026.11", link("a"), link("b"), link("..%2fc")) }},
		{"two names that differ in case", "path_clash", false, func(p *emulator.Emulator) { p.SetLinks("m", "2026.11", link("a"), link("b"), link("A")) }},
		{"a list that is a page", "bad_shape", false, func(p *emulator.Emulator) {
			p.AddFault(emulator.Fault{Kind: emulator.KindShape, Shape: "html", Path: "/Manifest/*"})
		}},
		{"a hash that is a word", "bad_shape", false, func(p *emulator.Emulator) {
			p.AddFault(emulator.Fault{Kind: emulator.KindBody, Body: "invalid license", Path: "/SHA256/*"})
		}},
		{"a hash that does not end", "too_large", false, func(p *emulator.Emulator) {
			p.AddFault(emulator.Fault{Kind: emulator.KindShape, Shape: "huge", Path: "/SHA256/*"})
		}},
		{"bytes with another digest", "hash_mismatch", false, func(p *emulator.Emulator) {
			p.SetManifest("m", "2026.11", file("a", "new"), file("b", "2"), file("c", "3"))
			p.AddFault(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := e2e.NewHost(t, "m")
			h.Provider.SetManifest("m", "2026.10", file("a", "1"), file("b", "2"), file("c", "3"))
			h.Sync(0)
			before := h.Published("m")
			test.provoke(h.Provider)
			r := h.Sync(1)
			m := r.Manifests[0]
			e2e.Same(h, "refusal", []string{"refused", test.reason}, []string{m.Result, m.Reason})
			e2e.Same(h, "generation", 1, r.Generation)
			e2e.Same(h, "published", before, h.Published("m"))
			e2e.Same(h, "state", "refused", h.Status().Manifests[0].State)
			h.Expect(map[bool]int{true: 0, false: 1}[test.forced], "sync", "--force")
		})
	}
}

func TestFlippedBitIsRetriedFromZero(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload, Path: "*/ews.txt", Times: 1})
	h.Sync(0)
	h.WantDownloads("Congress.csv", "ews.txt", "ews.txt", "mdAddr.dat", "mdAddr.lic", "mdAddrKey.db")
}

// tree describes every file, folder and link of the data directory, with contents and
// times. It leaves out state/.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || rel == "." || rel == "state" {
			return err // the socket and the check time come and go
		}
		if strings.HasPrefix(rel, "state/") {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		all[rel] = fmt.Sprint(info.Mode(), info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			all[rel] += fmt.Sprintf(" %x", sha256.Sum256(data))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// treeFiles are the names in tree that are not folders.
func treeFiles(t *testing.T, root string) []string {
	t.Helper()
	names := []string{}
	for name, what := range tree(t, root) {
		if !strings.HasPrefix(what, "d") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
