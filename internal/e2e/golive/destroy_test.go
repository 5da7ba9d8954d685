package golive_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"syncd/internal/e2e"
)

// destruction is what `destroyed --json` prints.
type destruction struct {
	Manifest, Release, Revision, Cause string
	At                                 time.Time
	Contents                           []struct {
		SHA256     string
		Size       int64
		Links      int
		SharedWith []string `json:"shared_with"`
	}
	Readers []struct {
		PID     int
		Command string
	}
}

func destroyed(h *e2e.Host) (list []destruction) {
	h.Helper()
	out := h.Expect(0, "destroyed", "--json")
	if err := json.Unmarshal([]byte(out.Stdout), &list); err != nil {
		h.Fatalf("%v in %s", err, out.Stdout)
	}
	return list
}

// holding lists the files below folders that contain a text.
func holding(h *e2e.Host, text string, folders ...string) (names []string) {
	h.Helper()
	for _, folder := range folders {
		h.Must(filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			if content, err := os.ReadFile(name); err != nil {
				return err
			} else if strings.Contains(string(content), text) {
				names = append(names, name)
			}
			return nil
		}))
	}
	return names
}

func TestDestroyLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	exported := h.Path("srv", "refdata")
	h.ConfigureWith("retain_for: 24h\nviews: [{name: v, layout: flat, export: " + exported + "}]")
	month := func(release, text string) {
		h.Provider.SetManifest("m", release, e2e.TextFile("a", text), e2e.TextFile("b", "shared by all"))
	}
	month("2026.09", "of september")
	h.Sync(0)
	month("2026.10", "of october")
	h.Sync(0)
	reader := exec.Command("tail", "-f", filepath.Join(h.Data, "generations/000001/m/a"))
	h.Must(reader.Start())
	defer func() { _ = reader.Process.Kill(); _ = reader.Wait() }()
	h.Eventually("tail has the file open", func() bool {
		target, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/3", reader.Process.Pid))
		return strings.HasSuffix(target, "/a")
	})
	everywhere := []string{h.Data, h.Path("srv")}
	if len(holding(h, "of september", everywhere...)) < 2 {
		t.Fatal("nothing is kept")
	}

	h.Contains("without a terminal", h.Expect(2, "destroy", "m", "2026.09").Stderr, "--yes")
	h.Contains("what is served", h.Expect(1, "destroy", "m", "2026.10", "--yes").Stderr, "is served")
	h.Contains("nothing", h.Expect(1, "destroy", "m", "2026.01", "--yes").Stderr, "nothing of release 2026.01 of m is on disk")
	h.Contains("unknown", h.Expect(2, "destroy", "none", "2026.01", "--yes").Stderr, "none")
	h.Contains("dry run", h.Expect(0, "destroy", "m", "2026.09", "--dry-run").Stdout, "would destroy m 2026.09-", "1 contents, 12 B; 1 stay", "tail (")
	p := h.SyncedDaemon()
	h.Contains("destroy", h.Expect(0, "destroy", "m", "2026.09", "--yes").Stdout, "destroyed m 2026.09-", "tail (")
	p.Logged("destroyed")
	if names := holding(h, "of september", everywhere...); len(names) > 0 {
		t.Errorf("still in %q", names)
	}
	h.Contains("again", h.Expect(0, "destroy", "m", "2026.09", "--yes").Stdout, "was destroyed at")
	p.Terminate()

	list := destroyed(h)
	if len(list) != 1 || list[0].Manifest != "m" || list[0].Release != "2026.09" || list[0].Cause != "command" || len(list[0].Contents) != 2 ||
		len(list[0].Readers) != 1 || list[0].Readers[0].Command != "tail" || list[0].Readers[0].PID != reader.Process.Pid {
		t.Errorf("%+v", list)
	}
	e2e.Same(h, "exported", "of october", string(h.Read("srv/refdata/a")))
	h.Proven()
	h.Must(os.Remove(h.Path("data/state/syncd.db")))
	e2e.Same(h, "records after the state was lost", 1, len(destroyed(h)))
	h.Contains("table", h.Expect(0, "destroyed", "--manifest", "m").Stdout, "2026.09-", "tail (")
	h.Contains("another", h.Expect(0, "destroyed", "--manifest", "n").Stdout, "nothing was destroyed")
}

func TestDestroyReachesFoldersThatWereExported(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	exported := h.Path("srv", "refdata")
	h.ConfigureWith("views: [{name: v, layout: flat, export: " + exported + "}]")
	h.Month("m", "2026.09", "of september")
	h.Sync(0)
	h.Write("srv/refdata/mine", "of somebody else", 0o644)
	h.Month("m", "2026.10", "of october")
	h.Sync(1)
	h.Contains("an export that does not follow", h.Expect(1, "destroy", "m", "2026.09", "--yes").Stderr, "still shows", "does not follow")
	h.Expect(0, "sync", "--take-over", "v")
	if len(holding(h, "of september", h.Path("srv", "refdata.before-syncd"))) != 1 {
		t.Fatal("the folder before was not kept")
	}
	h.Expect(0, "destroy", "m", "2026.09", "--yes")
	e2e.Same(h, "left of september", 0, len(holding(h, "of september", h.Data, h.Path("srv"))))
	e2e.Same(h, "file of somebody else", "of somebody else", string(h.Read("srv/refdata.before-syncd/mine")))

	h.ConfigureWith("views: [{name: v, layout: flat}]")
	h.Month("m", "2026.11", "of november")
	h.Sync(0)
	if len(holding(h, "of october", exported)) != 1 {
		t.Fatal("the folder that left the configuration is gone")
	}
	h.Expect(0, "destroy", "m", "2026.10", "--yes")
	e2e.Same(h, "left of october", 0, len(holding(h, "of october", h.Data, h.Path("srv"))))
}

// The clock of this machine and the Date header of the provider say that it is time.
func TestDestroyAfterByTheNextSync(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	h.Settings.Manifests = []string{"m\n    destroy_after: 2s"}
	h.ConfigureWith("retain: 5\nretain_for: 24h")
	h.Month("m", "2026.09", "of september")
	h.Sync(0)
	h.Must(os.Link(h.Path("data/current/m/m.dat"), h.Path("elsewhere")))
	h.Month("m", "2026.10", "of october")
	h.Sync(0)
	e2e.Same(h, "files before", true, len(holding(h, "of september", h.Data)) > 0)
	h.Eventually("it is destroyed", func() bool {
		h.Sync(0)
		return len(holding(h, "of september", h.Data)) == 0
	})
	list := destroyed(h)
	if len(list) != 1 || list[0].Cause != "destroy_after" || list[0].Contents[0].Links != 1 {
		t.Errorf("%+v", list)
	}
	e2e.Same(h, "served", "of october", h.ServedContent("m"))
}
