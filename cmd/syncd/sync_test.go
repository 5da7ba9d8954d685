package main

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

	"syncd/internal/emulator"
)

func TestSecondSyncDoesNothing(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.settings.manifests = []string{"dq_addr_data", "dq_addr_bins"}
	h.configure()

	first := h.expect(0, "sync")
	h.contains("sync", first.stdout, "dq_addr_data  2026.10-", "updated: 5 of 5 files downloaded", "dq_addr_bins  2026.10-", "generation 1 is served")
	same(h, "current", "generations/000001", h.current())
	if got := len(h.downloads()); got != 12 {
		t.Errorf("%d downloads, want 5 + 7", got)
	}
	data := h.published("dq_addr_data")
	same(h, "files", []string{"Congress.csv", "ews.txt", "mdAddr.dat", "mdAddr.lic", "mdAddrKey.db"}, sortedKeys(data))
	same(h, "files", []string{
		"interfaces/any/python/any/mdAddr_pythoncode.py",
		"interfaces/linux/java/64bit/libmdAddrJavaWrapper.so",
		"interfaces/linux/python/64bit/libmdAddrPythonWrapper.so",
		"linux/gcc48/32bit/libmdAddr.so",
		"linux/gcc48/64bit/libmdAddr.so",
		"windows/dll/64bit/mdAddr.dll",
		"zlinux/gcc48/64bit/libmdAddr.so",
	}, sortedKeys(h.published("dq_addr_bins")))

	before := tree(t, h.data)
	second := h.expect(0, "sync")
	h.contains("sync", second.stdout, "dq_addr_data", "unchanged: 5 files", "generation 1 stays")
	h.wantDownloads()
	same(h, "data directory", before, tree(t, h.data))
}

func TestOnlyTheChangedFileIsDownloaded(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	path := filepath.Join(h.data, "current", "dq_addr_data", "mdAddr.dat")
	old := h.digestOf(path)
	reader, err := os.Open(path)
	h.must(err)
	defer reader.Close()
	h.downloads()

	release := h.provider.AdvanceSample()
	r := h.sync(0)

	h.wantDownloads("mdAddr.dat")
	m := r.Manifests[0]
	same(h, "report", []any{2, true, release, "updated", 5, 1, 4},
		[]any{r.Generation, r.Changed, m.Release, m.Result, m.FilesTotal, m.FilesDownloaded, m.FilesReused})
	if h.digestOf(path) == old {
		t.Error("current still shows the old file")
	}
	if h.digest(reader) != old {
		t.Error("the open file changed under its reader")
	}
	if _, err := reader.Seek(0, io.SeekStart); err != nil {
		t.Error(err)
	}
}

func TestRepublishedReleaseIsAnotherRevision(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m")
	h.provider.SetManifest("m", "2026.10", emulator.File{Name: "a", Content: emulator.Text("1")}, emulator.File{Name: "b", Content: emulator.Text("2")})
	first := h.sync(0).Manifests[0]
	h.provider.SetManifest("m", "2026.10", emulator.File{Name: "a", Content: emulator.Text("1")}, emulator.File{Name: "b", Content: emulator.Text("3")})
	h.downloads()

	second := h.sync(0)

	h.wantDownloads("b")
	m := second.Manifests[0]
	if second.Generation != 2 || m.Release != first.Release || m.Revision == first.Revision {
		t.Errorf("after %+v: %+v", first, second)
	}
	for _, revision := range []string{first.Revision, m.Revision} {
		if _, err := os.Stat(filepath.Join(h.data, "revisions", "m", "2026.10-"+revision)); err != nil {
			t.Error(err)
		}
	}
}

func TestSha256sumVerifiesCurrent(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.settings.manifests = []string{"dq_addr_data", "dq_addr_bins"}
	h.configure()
	for _, m := range h.sync(0).Manifests {
		check := exec.Command("sha256sum", "--strict", "-c", m.Name+".SHA256SUMS")
		check.Dir = filepath.Join(h.data, "current")
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("sha256sum -c: %v\n%s", err, out)
		}
		same(h, "revision of "+m.Name, revisionOf(h.published(m.Name)), m.Revision)
		link, err := os.Readlink(filepath.Join(h.data, "current", m.Name))
		h.must(err)
		same(h, "link", "../../revisions/"+m.Name+"/2026.10-"+m.Revision, link)
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
	h := newHost(t)
	m := h.sync(0).Manifests[0]
	data, err := os.ReadFile(filepath.Join(h.data, "current", "dq_addr_data.json"))
	h.must(err)
	var record struct {
		Source, Release, Revision, Version string
		Files                              []struct {
			Path, SHA256 string
			Size         int64
		}
	}
	h.must(json.Unmarshal(data, &record))
	same(h, "record", []string{h.provider.URL(), m.Release, m.Revision}, []string{record.Source, record.Release, record.Revision})
	digests := map[string]string{}
	for _, f := range record.Files {
		digests[f.Path] = f.SHA256
	}
	same(h, "digests", h.published("dq_addr_data"), digests)
}

func TestModesDoNotDependOnTheUmask(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.settings.manifests = []string{"dq_addr_data", "dq_addr_bins"}
	h.configure()
	h.umask = "077"
	h.sync(0)
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 500, Host: emulator.HostDownload})
	h.provider.AdvanceSample()
	h.sync(1) // leaves an unfinished download
	h.provider.ClearFaults()
	h.sync(0)
	h.must(filepath.WalkDir(h.data, func(path string, entry fs.DirEntry, err error) error {
		h.must(err)
		info, err := entry.Info()
		h.must(err)
		rel, err := filepath.Rel(h.data, path)
		h.must(err)
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
	h := newHost(t)
	out := h.expect(0, "sync", "--json")
	same(h, "sync --json", []string{
		"changed: bool", "generation: number", "manifests: list",
		"manifests[].bytes_downloaded: number", "manifests[].bytes_reused: number", "manifests[].duration_seconds: number",
		"manifests[].error: string", "manifests[].files_downloaded: number", "manifests[].files_reused: number",
		"manifests[].files_total: number", "manifests[].name: string", "manifests[].reason: string",
		"manifests[].release: string", "manifests[].result: string", "manifests[].revision: string",
	}, shapeOf(t, out.stdout))
}

// shapeOf lists the fields of a JSON object with their types.
func shapeOf(t *testing.T, text string) []string {
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

func TestQuietSyncPrintsNothingButErrors(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	r := h.expect(0, "sync", "--quiet")
	same(h, "output", "", r.stdout+r.stderr)
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404})
	r = h.expect(1, "sync", "--quiet")
	same(h, "stdout", "", r.stdout)
	h.contains("stderr", r.stderr, "syncd: dq_addr_data: failed:")
}

func TestDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	r := h.expect(0, "sync", "--dry-run")
	h.contains("dry run", r.stdout, "would be updated: 5 of 5 files to download", "dry run: nothing was changed, and nothing is served yet")
	h.wantDownloads()
	same(h, "files after a first dry run", []string{".syncd-data-dir"}, treeFiles(t, h.data))

	h.sync(0)
	release := h.provider.AdvanceSample()
	before := tree(t, h.data)
	h.downloads()
	planned := h.sync(0, "--dry-run")
	m := planned.Manifests[0]
	same(h, "plan", []any{1, false, release, "updated", 5, 1}, []any{planned.Generation, planned.Changed, m.Release, m.Result, m.FilesTotal, m.FilesDownloaded})
	h.wantDownloads()
	same(h, "data directory", before, tree(t, h.data))
	s := h.status()
	same(h, "state", "in_sync", s.Manifests[0].State)
}

func TestUnknownManifestsAndFlagsAreUsageErrors(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	for _, args := range [][]string{
		{"sync", "nope"}, {"sync", "dq_addr_data", "nope"}, {"verify", "nope"}, {"rollback", "--manifest", "nope"},
		{"rollback", "first"}, {"rollback", "0"}, {"rollback", "-1"}, {"rollback", "1", "2"},
		{"sync", "--nope"}, {"nope"}, {"run", "nope"}, {"status", "nope"}, {"config", "nope"}, {"config", "check", "nope"},
		{"releases"}, {"releases", "a", "b"}, {"files"}, {"files", "m", "soon"}, {"manifests", "soon"}, {"get"}, {"version", "nope"},
		{"emulator", "--fault", "kind=nope"}, {"completion", "nope"}, {"demo", "nope"}, {"healthcheck", "nope"},
	} {
		r := h.syncd(args...)
		if r.code != 2 || r.stderr == "" {
			t.Errorf("syncd %q: exit %d, stderr %q; want exit 2 and a message", args, r.code, r.stderr)
		}
	}
}

func TestUsageErrorsShowTheFormOfTheCommand(t *testing.T) {
	t.Parallel()
	h := newHost(t)
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
		h.contains(strings.Join(row.args, " "), h.expect(2, row.args...).stderr, row.want)
	}
}

func TestOneBadManifestDoesNotHoldUpAnother(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.settings.manifests = []string{"absent", "dq_addr_data"}
	h.configure()
	r := h.sync(1)
	same(h, "results", []string{"failed", "updated"}, []string{r.Manifests[0].Result, r.Manifests[1].Result})
	same(h, "generation", 1, r.Generation)
	out := h.expect(1, "sync")
	h.contains("stderr", out.stderr, "syncd: absent: failed:")
	h.expect(0, "sync", "dq_addr_data")
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
			h := newHost(t, "m")
			h.provider.SetManifest("m", "2026.10", file("a", "1"), file("b", "2"), file("c", "3"))
			h.sync(0)
			before := h.published("m")
			test.provoke(h.provider)
			r := h.sync(1)
			m := r.Manifests[0]
			same(h, "refusal", []string{"refused", test.reason}, []string{m.Result, m.Reason})
			same(h, "generation", 1, r.Generation)
			same(h, "published", before, h.published("m"))
			same(h, "state", "refused", h.status().Manifests[0].State)
			h.expect(map[bool]int{true: 0, false: 1}[test.forced], "sync", "--force")
		})
	}
}

func TestFlippedBitIsRetriedFromZero(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload, Path: "*/ews.txt", Times: 1})
	h.sync(0)
	h.wantDownloads("Congress.csv", "ews.txt", "ews.txt", "mdAddr.dat", "mdAddr.lic", "mdAddrKey.db")
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
