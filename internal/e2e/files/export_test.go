package files_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// exportHost is a host with a release and two exported views: refdata, whose folder it
// returns, and flat.
func exportHost(t *testing.T) (h *e2e.Host, folder string) {
	t.Helper()
	h = e2e.NewHost(t, "m")
	folder = h.Path("srv", "refdata")
	h.ConfigureWith("views:\n  - {name: refdata, hash_files: true, export: " + folder + "}\n  - {name: flat, layout: flat, export: " + h.Path("srv", "flat") + "}")
	publishText(h, "2026.10", "one")
	return h, folder
}

func publishText(h *e2e.Host, release, text string) {
	h.Provider.SetManifest("m", release, emulator.File{Name: "us.dat", Content: emulator.Text(text)}, emulator.File{Name: "same.dat", Content: emulator.Text("same")})
}

// exports are the exports in the output of `sync --json` and `status --json`.
type exports struct {
	Generation int
	Exports    []struct {
		View, Path, Result, State, Error string
		Generation                       int
	}
}

func exportsOf(h *e2e.Host, code int, args ...string) (e exports) {
	h.Helper()
	out := h.Expect(code, args...)
	h.Must(json.Unmarshal([]byte(out.Stdout), &e))
	return e
}

// holdsText requires the content of us.dat in both folders.
func holdsText(h *e2e.Host, folder, text string) {
	h.Helper()
	for _, path := range []string{filepath.Join(folder, "m/data/us.dat"), h.Path("srv", "flat", "us.dat")} {
		data, err := os.ReadFile(path)
		h.Must(err)
		e2e.Same(h, path, text, string(data))
	}
}

func TestExportsFollowEachSwap(t *testing.T) {
	t.Parallel()
	h, folder := exportHost(t)
	e2e.Same(h, "exports", 2, len(exportsOf(h, 0, "sync", "--json").Exports))
	holdsText(h, folder, "one")
	reader, err := os.Open(filepath.Join(folder, "m/data/us.dat"))
	h.Must(err)
	defer reader.Close()
	publishText(h, "2026.11", "two")
	h.Sync(0)
	holdsText(h, folder, "two")
	e2e.Same(h, "an open file", h.DigestOf(filepath.Join(h.Data, "generations/000001/flat/us.dat")), h.Digest(reader))
	h.Expect(0, "rollback")
	holdsText(h, folder, "one")
	s := exportsOf(h, 0, "status", "--json")
	e2e.Same(h, "status", []any{"in_sync", s.Generation}, []any{s.Exports[0].State, s.Exports[0].Generation})
	h.Contains("status", h.Expect(0, "status").Stdout, "EXPORT", folder, "in_sync")
	h.Expect(0, "verify")
}

func TestExportCostsNoSecondCopyOnOneFileSystem(t *testing.T) {
	t.Parallel()
	h, folder := exportHost(t)
	h.Sync(0)
	a, err := os.Stat(filepath.Join(folder, "m/data/us.dat"))
	h.Must(err)
	b, err := os.Stat(filepath.Join(h.Data, "current/m/us.dat"))
	h.Must(err)
	if !os.SameFile(a, b) {
		t.Error("the export is a copy")
	}
}

func TestRefusedExportFailsTheSyncAndTheMirrorGoesOn(t *testing.T) {
	t.Parallel()
	h, folder := exportHost(t)
	h.Must(os.MkdirAll(folder, 0o755))
	h.Must(os.WriteFile(filepath.Join(folder, "notes"), []byte("mine"), 0o644))
	r := exportsOf(h, 1, "sync", "--json")
	e2e.Same(h, "result", "refused", r.Exports[0].Result)
	h.Contains("error", r.Exports[0].Error, folder, `"notes"`, "syncd sync --take-over refdata", folder+".before-syncd")
	e2e.Same(h, "the other export", "updated", r.Exports[1].Result)
	e2e.Same(h, "current", "generations/000001", h.Current())
	e2e.Same(h, "status", "refused", exportsOf(h, 0, "status", "--json").Exports[0].State)
	h.Contains("explain", h.Expect(0, "explain").Stdout, "export of view refdata: ", "syncd sync --take-over refdata")
	h.Expect(2, "sync", "--take-over", "nowhere")
	h.Expect(0, "sync", "--take-over", "refdata")
	holdsText(h, folder, "one")
	data, err := os.ReadFile(filepath.Join(folder+".before-syncd", "notes"))
	h.Must(err)
	e2e.Same(h, "the kept folder", "mine", string(data))
	h.Must(os.WriteFile(filepath.Join(folder, "extra"), nil, 0o644))
	h.Expect(1, "sync")
}

func TestSyncFinishesAnExportWithoutTheProvider(t *testing.T) {
	t.Parallel()
	h, folder := exportHost(t)
	h.Sync(0)
	h.Must(os.RemoveAll(folder))
	h.Provider.Close()
	h.Sync(1)
	holdsText(h, folder, "one")
}

// The export shares its files with the data directory: reading them again proves nothing.
func TestVerifyReadsTheFilesOfAnExportOnce(t *testing.T) {
	t.Parallel()
	h, folder := exportHost(t)
	h.Sync(0)
	verified := func() (v struct{ Files, Bytes int }) {
		h.Must(json.Unmarshal([]byte(h.Expect(0, "verify", "--json").Stdout), &v))
		return v
	}
	shared := verified()
	path := filepath.Join(folder, "m/data/us.dat")
	h.Must(os.Rename(path, path+".old"))
	h.Must(os.WriteFile(path, []byte("one"), 0o444))
	h.Must(os.Remove(path + ".old"))
	copied := verified()
	e2e.Same(h, "files and bytes read", []int{shared.Files + 1, shared.Bytes + len("one")}, []int{copied.Files, copied.Bytes})
	e2e.Same(h, "files", 4, shared.Files) // two of the manifest, and their hash files
}

func TestDamageInAnExportIsRepaired(t *testing.T) {
	t.Parallel()
	h, folder := exportHost(t)
	h.Sync(0)
	path := filepath.Join(folder, "m/data/us.dat")
	h.Must(os.Chmod(path, 0o644))
	h.Must(os.WriteFile(path, []byte("bad"), 0o644)) // as root: it is a link to the object
	out := h.Expect(1, "verify")
	h.Contains("verify", out.Stdout, "DAMAGED  "+path)
	h.Expect(0, "verify", "--repair")
	holdsText(h, folder, "one")
	h.Expect(0, "verify")
	h.Sync(0)
}

// A new tree would link the same damaged object.
func TestDamageThatAnExportSharesIsNotMendedWithoutTheProvider(t *testing.T) {
	t.Parallel()
	h, folder := exportHost(t)
	h.Sync(0)
	path := filepath.Join(folder, "m/data/us.dat")
	h.Must(os.Chmod(path, 0o644))
	h.Must(os.WriteFile(path, []byte("bad"), 0o644))
	h.Provider.Close()
	out := h.Expect(1, "verify", "--repair")
	h.Contains("verify", out.Stdout, "DAMAGED  m/us.dat", "DAMAGED  "+path)
	if strings.Contains(out.Stdout, "repaired  ") {
		t.Errorf("it says that damage was repaired:\n%s", out.Stdout)
	}
}

func TestChangeOfLayoutIsOneExchange(t *testing.T) {
	t.Parallel()
	h, folder := exportHost(t)
	h.Sync(0)
	h.ConfigureWith(strings.Replace(h.Settings.More, "hash_files: true", "layout: native", 1))
	h.Sync(0)
	if data, err := os.ReadFile(filepath.Join(folder, "us.dat")); err != nil || string(data) != "one" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := os.Stat(filepath.Join(folder, "m")); err == nil {
		t.Error("the old layout is still there")
	}
}

// The updater often runs as another user than syncd.
func TestFolderOfAnotherUserIsReplacedInADirectoryOfSyncd(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"", "us.dat"} {
		h := e2e.AsRoot(t)
		h.Settings.Manifests = []string{"m"}
		folder := h.Path("srv", "refdata")
		h.ConfigureWith("views: [{name: refdata, layout: flat, export: " + folder + "}]")
		publishText(h, "2026.10", "one")
		h.Must(os.MkdirAll(folder, 0o755))
		if file != "" {
			h.Must(os.WriteFile(filepath.Join(folder, file), []byte("old"), 0o644))
		}
		h.Binary, h.As = e2e.CopyBinary(h), &syscall.Credential{Uid: e2e.OtherUID, Gid: e2e.OtherGID}
		for _, path := range []string{h.Dir, h.Path("id"), h.Path("srv")} {
			h.Must(os.Chown(path, e2e.OtherUID, e2e.OtherGID))
		}
		h.Expect(0, "sync", "--take-over", "refdata")
		data, err := os.ReadFile(filepath.Join(folder, "us.dat"))
		h.Must(err)
		e2e.Same(h, "exported", "one", string(data))
	}
}

func TestRefusedExportIsToldOnceAndByTheDaemonsEvent(t *testing.T) {
	t.Parallel()
	h, folder := exportHost(t)
	h.Must(os.MkdirAll(folder, 0o755))
	h.Must(os.WriteFile(filepath.Join(folder, "notes"), []byte("mine"), 0o644))
	stderr := h.Expect(1, "sync").Stderr
	e2e.Same(h, "lines of "+stderr, 1, strings.Count(stderr, "\n"))
	p := h.Daemon()
	event := p.Logged("sync")
	e2e.Same(h, "level", "error", event["level"].(string))
	text, err := json.Marshal(event["exports"])
	h.Must(err)
	h.Contains("event", string(text), `"export":"`+folder, `"result":"refused"`, "--take-over refdata")
	p.Terminate()
	publishText(h, "2026.11", "two")
	h.Sync(1)
	h.Contains("rollback", h.Expect(1, "rollback").Stderr, "syncd: refdata: refused", "--take-over refdata")
	e2e.Same(h, "the other export", "one", string(h.Read("srv/flat/us.dat")))
}
