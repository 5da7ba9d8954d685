package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/emulator"
)

// exportHost is a host with a release and two exported views: refdata, whose folder it
// returns, and flat.
func exportHost(t *testing.T) (h *host, folder string) {
	t.Helper()
	h = newHost(t, "m")
	folder = h.path("srv", "refdata")
	h.settings.more = "views:\n  - {name: refdata, hash_files: true, export: " + folder + "}\n  - {name: flat, layout: flat, export: " + h.path("srv", "flat") + "}"
	h.configure()
	h.publishText("2026.10", "one")
	return h, folder
}

func (h *host) publishText(release, text string) {
	h.provider.SetManifest("m", release, emulator.File{Name: "us.dat", Content: emulator.Text(text)}, emulator.File{Name: "same.dat", Content: emulator.Text("same")})
}

// exports are the exports in the output of `sync --json` and `status --json`.
type exports struct {
	Generation int
	Exports    []struct {
		View, Path, Result, State, Error string
		Generation                       int
	}
}

func (h *host) exportsOf(code int, args ...string) (e exports) {
	h.Helper()
	out := h.expect(code, args...)
	h.must(json.Unmarshal([]byte(out.stdout), &e))
	return e
}

// holdsText requires the content of us.dat in both folders.
func (h *host) holdsText(folder, text string) {
	h.Helper()
	for _, path := range []string{filepath.Join(folder, "m/data/us.dat"), h.path("srv", "flat", "us.dat")} {
		data, err := os.ReadFile(path)
		h.must(err)
		same(h, path, text, string(data))
	}
}

func TestExportsFollowEachSwap(t *testing.T) {
	t.Parallel()
	h, folder := exportHost(t)
	same(h, "exports", 2, len(h.exportsOf(0, "sync", "--json").Exports))
	h.holdsText(folder, "one")
	reader, err := os.Open(filepath.Join(folder, "m/data/us.dat"))
	h.must(err)
	defer reader.Close()
	h.publishText("2026.11", "two")
	h.sync(0)
	h.holdsText(folder, "two")
	same(h, "an open file", h.digestOf(filepath.Join(h.data, "generations/000001/flat/us.dat")), h.digest(reader))
	h.expect(0, "rollback")
	h.holdsText(folder, "one")
	s := h.exportsOf(0, "status", "--json")
	same(h, "status", []any{"in_sync", s.Generation}, []any{s.Exports[0].State, s.Exports[0].Generation})
	h.contains("status", h.expect(0, "status").stdout, "EXPORT", folder, "in_sync")
	h.expect(0, "verify")
}

func TestExportCostsNoSecondCopyOnOneFileSystem(t *testing.T) {
	t.Parallel()
	h, folder := exportHost(t)
	h.sync(0)
	a, err := os.Stat(filepath.Join(folder, "m/data/us.dat"))
	h.must(err)
	b, err := os.Stat(filepath.Join(h.data, "current/m/us.dat"))
	h.must(err)
	if !os.SameFile(a, b) {
		t.Error("the export is a copy")
	}
}

func TestRefusedExportFailsTheSyncAndTheMirrorGoesOn(t *testing.T) {
	t.Parallel()
	h, folder := exportHost(t)
	h.must(os.MkdirAll(folder, 0o755))
	h.must(os.WriteFile(filepath.Join(folder, "notes"), []byte("mine"), 0o644))
	r := h.exportsOf(1, "sync", "--json")
	same(h, "result", "refused", r.Exports[0].Result)
	h.contains("error", r.Exports[0].Error, folder, `"notes"`, "syncd sync --take-over refdata", folder+".before-syncd")
	same(h, "the other export", "updated", r.Exports[1].Result)
	same(h, "current", "generations/000001", h.current())
	same(h, "status", "refused", h.exportsOf(0, "status", "--json").Exports[0].State)
	h.expect(2, "sync", "--take-over", "nowhere")
	h.expect(0, "sync", "--take-over", "refdata")
	h.holdsText(folder, "one")
	data, err := os.ReadFile(filepath.Join(folder+".before-syncd", "notes"))
	h.must(err)
	same(h, "the kept folder", "mine", string(data))
	h.must(os.WriteFile(filepath.Join(folder, "extra"), nil, 0o644))
	h.expect(1, "sync")
}

func TestSyncFinishesAnExportWithoutTheProvider(t *testing.T) {
	t.Parallel()
	h, folder := exportHost(t)
	h.sync(0)
	h.must(os.RemoveAll(folder))
	h.provider.Close()
	h.sync(1)
	h.holdsText(folder, "one")
}

// The export shares its files with the data directory: reading them again proves nothing.
func TestVerifyReadsTheFilesOfAnExportOnce(t *testing.T) {
	t.Parallel()
	h, folder := exportHost(t)
	h.sync(0)
	verified := func() (v struct{ Files, Bytes int }) {
		h.must(json.Unmarshal([]byte(h.expect(0, "verify", "--json").stdout), &v))
		return v
	}
	shared := verified()
	path := filepath.Join(folder, "m/data/us.dat")
	h.must(os.Rename(path, path+".old"))
	h.must(os.WriteFile(path, []byte("one"), 0o444))
	h.must(os.Remove(path + ".old"))
	copied := verified()
	same(h, "files and bytes read", []int{shared.Files + 1, shared.Bytes + len("one")}, []int{copied.Files, copied.Bytes})
	same(h, "files", 4, shared.Files) // two of the manifest, and their hash files
}

func TestDamageInAnExportIsRepaired(t *testing.T) {
	t.Parallel()
	h, folder := exportHost(t)
	h.sync(0)
	path := filepath.Join(folder, "m/data/us.dat")
	h.must(os.Chmod(path, 0o644))
	h.must(os.WriteFile(path, []byte("bad"), 0o644)) // as root: it is a link to the object
	out := h.expect(1, "verify")
	h.contains("verify", out.stdout, "DAMAGED  "+path)
	h.expect(0, "verify", "--repair")
	h.holdsText(folder, "one")
	h.expect(0, "verify")
	h.sync(0)
}

// A new tree would link the same damaged object.
func TestDamageThatAnExportSharesIsNotMendedWithoutTheProvider(t *testing.T) {
	t.Parallel()
	h, folder := exportHost(t)
	h.sync(0)
	path := filepath.Join(folder, "m/data/us.dat")
	h.must(os.Chmod(path, 0o644))
	h.must(os.WriteFile(path, []byte("bad"), 0o644))
	h.provider.Close()
	out := h.expect(1, "verify", "--repair")
	h.contains("verify", out.stdout, "DAMAGED  m/us.dat", "DAMAGED  "+path)
	if strings.Contains(out.stdout, "repaired  ") {
		t.Errorf("it says that damage was repaired:\n%s", out.stdout)
	}
}

func TestChangeOfLayoutIsOneExchange(t *testing.T) {
	t.Parallel()
	h, folder := exportHost(t)
	h.sync(0)
	h.settings.more = strings.Replace(h.settings.more, "hash_files: true", "layout: native", 1)
	h.configure()
	h.sync(0)
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
		h := asRoot(t)
		h.settings.manifests = []string{"m"}
		folder := h.path("srv", "refdata")
		h.settings.more = "views: [{name: refdata, layout: flat, export: " + folder + "}]"
		h.configure()
		h.publishText("2026.10", "one")
		h.must(os.MkdirAll(folder, 0o755))
		if file != "" {
			h.must(os.WriteFile(filepath.Join(folder, file), []byte("old"), 0o644))
		}
		h.binary, h.as = copyBinary(h), &syscall.Credential{Uid: otherUID, Gid: otherGID}
		for _, path := range []string{h.dir, h.path("id"), h.path("srv")} {
			h.must(os.Chown(path, otherUID, otherGID))
		}
		h.expect(0, "sync", "--take-over", "refdata")
		data, err := os.ReadFile(filepath.Join(folder, "us.dat"))
		h.must(err)
		same(h, "exported", "one", string(data))
	}
}

func TestRefusedExportIsToldOnceAndByTheDaemonsEvent(t *testing.T) {
	t.Parallel()
	h, folder := exportHost(t)
	h.must(os.MkdirAll(folder, 0o755))
	h.must(os.WriteFile(filepath.Join(folder, "notes"), []byte("mine"), 0o644))
	stderr := h.expect(1, "sync").stderr
	same(h, "lines of "+stderr, 1, strings.Count(stderr, "\n"))
	p := h.daemon()
	event := p.logged("sync")
	same(h, "level", "error", event["level"].(string))
	text, err := json.Marshal(event["exports"])
	h.must(err)
	h.contains("event", string(text), `"export":"`+folder, `"result":"refused"`, "--take-over refdata")
	p.terminate()
	h.publishText("2026.11", "two")
	h.sync(1)
	h.contains("rollback", h.expect(1, "rollback").stderr, "syncd: refdata: refused", "--take-over refdata")
	same(h, "the other export", "one", string(h.read("srv/flat/us.dat")))
}
