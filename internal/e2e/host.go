package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/emulator"
)

// Month publishes one file of a manifest.
func (h *Host) Month(name, release, content string) {
	h.Provider.SetManifest(name, release, emulator.File{Name: name + ".dat", Content: emulator.Text(content)})
}

// ServedContent is the content of a file that Month published, "" for none.
func (h *Host) ServedContent(name string) string {
	text, _ := os.ReadFile(filepath.Join(h.Data, "current", name, name+".dat"))
	return string(text)
}

// The paths of the requests of a sync.
const (
	AtReleases = "/ManifestReleases/*"
	AtList     = "/Manifest/*"
	AtHash     = "/SHA256/*"
)

// Patience is a deadline that only a bug reaches.
const Patience = time.Minute

// Host is a machine with a configuration, a data directory and a provider.
type Host struct {
	*testing.T
	Dir      string // everything below is in it
	Data     string
	Provider *emulator.Emulator
	Settings Settings
	Environ  []string
	Binary   string
	raced    string // of processes that keep running
	As       *syscall.Credential
	Umask    string
}

// Settings are the parts of the configuration file that tests change.
type Settings struct {
	URL       string
	ID        string // the line that gives the Customer ID
	Manifests []string
	Elapsed   string // source.retry.max_elapsed
	Stall     string // source.stall_timeout
	Bucket    string // the line that names a bucket, instead of url and id
	Source    string // further lines of source
	More      string // further top-level keys
}

// NewHost configures the named manifests, or dq_addr_data of the sample.
func NewHost(t *testing.T, manifests ...string) *Host {
	t.Helper()
	provider, err := emulator.Start(emulator.Config{CustomerID: CustomerID})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { provider.Close() })
	h := NewHostOf(t, provider, manifests...)
	if len(manifests) == 0 {
		provider.AddSample()
	}
	return h
}

// NewHostOf is NewHost for a provider that exists.
func NewHostOf(t *testing.T, provider *emulator.Emulator, manifests ...string) *Host {
	t.Helper()
	if len(manifests) == 0 {
		manifests = []string{"dq_addr_data"}
	}
	h := &Host{T: t, Dir: NewDir(t), Provider: provider, Binary: built(t, plain)}
	h.raced = h.Binary
	h.Data = filepath.Join(h.Dir, "data")
	h.Settings = Settings{URL: provider.URL(), ID: "customer_id_file: id", Elapsed: "1s", Stall: "60s", Manifests: manifests}
	h.Write("id", CustomerID+"\n", 0o600)
	h.Configure()
	t.Cleanup(h.CheckSecret)
	return h
}

// WithRace has the race detector watch processes that keep running.
func (h *Host) WithRace() *Host {
	h.Helper()
	h.raced = built(h.T, raced)
	return h
}

// NewDir creates a folder that every user may enter, unlike T.TempDir.
func NewDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "syncd-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Path is a path in the host's folder.
func (h *Host) Path(elem ...string) string { return filepath.Join(append([]string{h.Dir}, elem...)...) }

// Write writes a file in the host's folder.
func (h *Host) Write(name, text string, mode os.FileMode) {
	h.Helper()
	h.Must(os.WriteFile(h.Path(name), []byte(text), mode))
	h.Must(os.Chmod(h.Path(name), mode))
}

// Must ends the test with an error, if there is one.
func (h *Host) Must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// Configure writes the configuration file.
func (h *Host) Configure() {
	h.Helper()
	var b strings.Builder
	from := "url: " + h.Settings.URL + "\n  " + h.Settings.ID
	if h.Settings.Bucket != "" {
		from = h.Settings.Bucket
	}
	fmt.Fprintf(&b, "source:\n  %s\n  stall_timeout: %s\n", from, h.Settings.Stall)
	if h.Settings.Source != "" {
		fmt.Fprintf(&b, "  %s\n", h.Settings.Source)
	}
	fmt.Fprintf(&b, "  retry: {initial_interval: 10ms, max_interval: 100ms, max_elapsed: %s}\n", h.Settings.Elapsed)
	fmt.Fprintf(&b, "data_dir: %s\njitter: 0s\nhttp: {listen: 127.0.0.1:0}\n%s\nmanifests:\n", h.Data, h.Settings.More)
	for _, m := range h.Settings.Manifests {
		fmt.Fprintf(&b, "  - name: %s\n", m)
	}
	h.Write("syncd.yaml", b.String(), 0o644)
}

// ConfigureWith writes the configuration file with further top-level keys.
func (h *Host) ConfigureWith(more string) {
	h.Helper()
	h.Settings.More = more
	h.Configure()
}

// Command is `syncd --config FILE ARGS…`, not started yet.
func (h *Host) Command(args ...string) *exec.Cmd { return h.commandOf(h.Binary, args...) }

func (h *Host) commandOf(binary string, args ...string) *exec.Cmd {
	argv := append([]string{binary, "--config", h.Path("syncd.yaml")}, args...)
	if h.Umask != "" {
		argv = append([]string{"sh", "-c", `umask "$0"; exec "$@"`, h.Umask}, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = h.Dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "GORACE=halt_on_error=1 atexit_sleep_ms=0"}, h.Environ...)
	if h.As != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.As}
	}
	return cmd
}

// Result is the outcome of a command.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Syncd runs a command to its end.
func (h *Host) Syncd(args ...string) Result {
	h.Helper()
	var stdout, stderr bytes.Buffer
	cmd := h.Command(args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		h.Fatal(err)
	}
	r := Result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	h.SecretFree("stdout of "+strings.Join(args, " "), r.Stdout)
	h.SecretFree("stderr of "+strings.Join(args, " "), r.Stderr)
	return r
}

// Expect runs a command and requires its exit code.
func (h *Host) Expect(code int, args ...string) Result {
	h.Helper()
	r := h.Syncd(args...)
	if r.Code != code {
		h.Fatalf("syncd %s: exit %d, want %d\nstdout: %s\nstderr: %s", strings.Join(args, " "), r.Code, code, r.Stdout, r.Stderr)
	}
	return r
}

// Eventually waits until a condition holds.
func (h *Host) Eventually(what string, happened func() bool) {
	h.Helper()
	for deadline := time.Now().Add(Patience); !happened(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.Fatalf("waited %s in vain for %s", Patience, what)
		}
	}
}

// SyncOutput is the output of `sync --json`.
type SyncOutput struct {
	Generation int
	Changed    bool
	Manifests  []struct {
		Name, Release, Revision, Result, Reason, Error string
		FilesTotal                                     int   `json:"files_total"`
		FilesDownloaded                                int   `json:"files_downloaded"`
		FilesReused                                    int   `json:"files_reused"`
		BytesDownloaded                                int64 `json:"bytes_downloaded"`
		BytesReused                                    int64 `json:"bytes_reused"`
	}
}

// Sync runs `sync --json` and requires its exit code.
func (h *Host) Sync(code int, args ...string) (r SyncOutput) {
	h.Helper()
	out := h.Expect(code, append([]string{"sync", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out.Stdout), &r); err != nil {
		h.Fatalf("sync --json printed %q: %v", out.Stdout, err)
	}
	return r
}

// PrintedStatus is the output of `status --json`.
type PrintedStatus struct {
	Generation int
	Daemon     bool
	Manifests  []struct {
		Name, Release, Revision, State, Error string
		Files                                 int
		HeldFrom                              string     `json:"held_from"`
		CheckedAt                             *time.Time `json:"checked_at"`
		SyncedAt                              *time.Time `json:"synced_at"`
		NextSync                              *time.Time `json:"next_sync"`
	}
}

// Status runs `status --json`.
func (h *Host) Status() (s PrintedStatus) {
	h.Helper()
	out := h.Expect(0, "status", "--json")
	h.Must(json.Unmarshal([]byte(out.Stdout), &s))
	return s
}

// Current is the target of the symlink that readers follow, "" for none.
func (h *Host) Current() string {
	target, _ := os.Readlink(filepath.Join(h.Data, "current"))
	return target
}

// Same fails with a diff.
func Same[T any](h *Host, what string, want, got T) {
	h.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		h.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Contains requires that a text has each part.
func (h *Host) Contains(what, text string, parts ...string) {
	h.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			h.Errorf("%s does not say %q:\n%s", what, part, text)
		}
	}
}

// Offer makes the provider publish a release of manifest m.
func (h *Host) Offer(release string) {
	h.Provider.SetManifest("m", release, emulator.File{Name: "file.dat", Content: emulator.Text(release)})
}
