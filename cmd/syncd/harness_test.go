package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"syncd/internal/emulator"
	"syncd/internal/host/command"
)

// The tests run the program itself, as a build without the race detector, which needs a
// fifth of the CPU time: the packages below test what they do under it. After withRace,
// processes that keep running are the test binary, which is syncd when runMain is set. The
// provider is an emulator in the process of the test.
const runMain = "SYNCD_E2E_RUN_MAIN"

// customerID needs escaping in a query. No test may leave it in output or on disk:
// see host.checkSecret.
const customerID = "K3Y/with+special=&%chars"

// patience is a deadline that only a bug reaches.
const patience = time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(runMain) != "" || command.IsSupervisor() {
		main()
		return
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(buildDir())
		os.Exit(code)
	}))
}

// times is how often a test repeats something. `make torture` sets
// SYNCD_TORTURE=full for the full number.
func times(ci, full int) int {
	if os.Getenv("SYNCD_TORTURE") == "full" {
		return full
	}
	return ci
}

// host is a machine with a configuration, a data directory and a provider.
type host struct {
	*testing.T
	dir      string // everything below is in it
	data     string
	provider *emulator.Emulator
	settings settings
	environ  []string
	binary   string
	raced    string // of processes that keep running
	as       *syscall.Credential
	umask    string
}

// settings are the parts of the configuration file that tests change.
type settings struct {
	url       string
	id        string // the line that gives the Customer ID
	manifests []string
	elapsed   string // source.retry.max_elapsed
	stall     string // source.stall_timeout
	bucket    string // the line that names a bucket, instead of url and id
	source    string // further lines of source
	more      string // further top-level keys
}

// newHost configures the named manifests, or dq_addr_data of the sample.
func newHost(t *testing.T, manifests ...string) *host {
	t.Helper()
	provider, err := emulator.Start(emulator.Config{CustomerID: customerID})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { provider.Close() })
	h := newHostOf(t, provider, manifests...)
	if len(manifests) == 0 {
		provider.AddSample()
	}
	return h
}

func newHostOf(t *testing.T, provider *emulator.Emulator, manifests ...string) *host {
	t.Helper()
	if len(manifests) == 0 {
		manifests = []string{"dq_addr_data"}
	}
	binary := built(t)
	h := &host{T: t, dir: newDir(t), provider: provider, binary: binary, raced: binary}
	h.data = filepath.Join(h.dir, "data")
	h.settings = settings{url: provider.URL(), id: "customer_id_file: id", elapsed: "1s", stall: "60s", manifests: manifests}
	h.write("id", customerID+"\n", 0o600)
	h.configure()
	t.Cleanup(h.checkSecret)
	return h
}

// withRace has the race detector watch processes that keep running.
func (h *host) withRace() *host {
	h.Helper()
	h.raced = testBinary(h.T)
	return h
}

// newDir creates a folder that every user may enter, unlike T.TempDir.
func newDir(t *testing.T) string {
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

func (h *host) path(elem ...string) string { return filepath.Join(append([]string{h.dir}, elem...)...) }

func (h *host) write(name, text string, mode os.FileMode) {
	h.Helper()
	h.must(os.WriteFile(h.path(name), []byte(text), mode))
	h.must(os.Chmod(h.path(name), mode))
}

func (h *host) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// configure writes the configuration file.
func (h *host) configure() {
	h.Helper()
	var b strings.Builder
	from := "url: " + h.settings.url + "\n  " + h.settings.id
	if h.settings.bucket != "" {
		from = h.settings.bucket
	}
	fmt.Fprintf(&b, "source:\n  %s\n  stall_timeout: %s\n", from, h.settings.stall)
	if h.settings.source != "" {
		fmt.Fprintf(&b, "  %s\n", h.settings.source)
	}
	fmt.Fprintf(&b, "  retry: {initial_interval: 10ms, max_interval: 100ms, max_elapsed: %s}\n", h.settings.elapsed)
	fmt.Fprintf(&b, "data_dir: %s\njitter: 0s\nhttp: {listen: 127.0.0.1:0}\n%s\nmanifests:\n", h.data, h.settings.more)
	for _, m := range h.settings.manifests {
		fmt.Fprintf(&b, "  - name: %s\n", m)
	}
	h.write("syncd.yaml", b.String(), 0o644)
}

// command is `syncd --config FILE ARGS…`, not started yet.
func (h *host) command(args ...string) *exec.Cmd { return h.commandOf(h.binary, args...) }

func (h *host) commandOf(binary string, args ...string) *exec.Cmd {
	argv := append([]string{binary, "--config", h.path("syncd.yaml")}, args...)
	if h.umask != "" {
		argv = append([]string{"sh", "-c", `umask "$0"; exec "$@"`, h.umask}, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = h.dir
	cmd.Env = append([]string{runMain + "=1", "PATH=" + os.Getenv("PATH"), "GORACE=halt_on_error=1 atexit_sleep_ms=0"}, h.environ...)
	if h.as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.as}
	}
	return cmd
}

// result is the outcome of a command.
type result struct {
	code           int
	stdout, stderr string
}

// syncd runs a command to its end.
func (h *host) syncd(args ...string) result {
	h.Helper()
	var stdout, stderr bytes.Buffer
	cmd := h.command(args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.Fatal(err)
	}
	r := result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	h.secretFree("stdout of "+strings.Join(args, " "), r.stdout)
	h.secretFree("stderr of "+strings.Join(args, " "), r.stderr)
	return r
}

// expect runs a command and requires its exit code.
func (h *host) expect(code int, args ...string) result {
	h.Helper()
	r := h.syncd(args...)
	if r.code != code {
		h.Fatalf("syncd %s: exit %d, want %d\nstdout: %s\nstderr: %s", strings.Join(args, " "), r.code, code, r.stdout, r.stderr)
	}
	return r
}

// process is a syncd that keeps running.
type process struct {
	h              *host
	cmd            *exec.Cmd
	stdout, stderr *buffer
	done           chan struct{}
	web            string           // base URL of a daemon
	read           int              // bytes of stderr that are in log
	log            []map[string]any // events
}

func (h *host) start(args ...string) *process {
	h.Helper()
	p := &process{h: h, cmd: h.commandOf(h.raced, args...), stdout: &buffer{}, stderr: &buffer{}, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	h.must(p.cmd.Start())
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // ProcessState has the outcome
	}()
	h.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		h.secretFree("stdout of "+strings.Join(args, " "), p.stdout.String())
		h.secretFree("stderr of "+strings.Join(args, " "), p.stderr.String())
		if strings.Contains(p.stderr.String(), "DATA RACE") || h.Failed() {
			h.Logf("syncd %s wrote:\n%s%s", strings.Join(args, " "), p.stdout, p.stderr)
		}
	})
	return p
}

// daemon starts `syncd run` and waits until it responds.
func (h *host) daemon() *process {
	h.Helper()
	p := h.start("run")
	p.logged("started")
	p.web = "http://" + p.logged("listening")["address"].(string)
	return p
}

// logged waits for a log event and returns it.
func (p *process) logged(message string) map[string]any {
	p.h.Helper()
	return p.loggedTimes(message, 1)
}

// loggedTimes waits for the n-th event with a message.
func (p *process) loggedTimes(message string, n int) (event map[string]any) {
	p.h.Helper()
	p.h.eventually(fmt.Sprintf("event %d %q in the log", n, message), func() bool {
		events := p.events(message)
		if len(events) >= n {
			event = events[n-1]
			return true
		}
		select {
		case <-p.done:
			p.h.Fatalf("syncd ended (%v) before %q:\n%s", p.cmd.ProcessState, message, p.stderr)
		default:
		}
		return false
	})
	return event
}

// events are the log events with a message.
func (p *process) events(message string) []map[string]any {
	for line := range strings.Lines(p.stderr.String()[p.read:]) {
		var event map[string]any
		if !strings.HasSuffix(line, "\n") {
			break
		}
		if p.read += len(line); json.Unmarshal([]byte(line), &event) == nil {
			p.log = append(p.log, event)
		}
	}
	var found []map[string]any
	for _, event := range p.log {
		if event["message"] == message {
			found = append(found, event)
		}
	}
	return found
}

func (p *process) signal(s os.Signal) {
	p.h.Helper()
	p.h.must(p.cmd.Process.Signal(s))
}

// wait returns the exit code, -1 after a signal.
func (p *process) wait() int {
	p.h.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.h.Fatalf("syncd does not end:\n%s", p.stderr)
	}
	return p.cmd.ProcessState.ExitCode()
}

// terminate ends a process as systemd does and requires exit code 0.
func (p *process) terminate() {
	p.h.Helper()
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		p.h.Errorf("exit %d after SIGTERM, want 0:\n%s", code, p.stderr)
	}
}

// get sends a request to the web server of the daemon.
func (p *process) get(path string) (int, string) {
	p.h.Helper()
	return p.request(http.MethodGet, path, "")
}

func (p *process) request(method, path, body string) (int, string) {
	p.h.Helper()
	req, err := http.NewRequest(method, p.web+path, strings.NewReader(body))
	p.h.must(err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	res, err := client.Do(req)
	p.h.must(err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	p.h.must(err)
	p.h.secretFree(method+" "+path, string(answer))
	return res.StatusCode, string(answer)
}

// buffer is a bytes.Buffer for a process that writes while a test reads.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// eventually waits until a condition holds.
func (h *host) eventually(what string, happened func() bool) {
	h.Helper()
	for deadline := time.Now().Add(patience); !happened(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.Fatalf("waited %s in vain for %s", patience, what)
		}
	}
}

// gated is a content whose readers wait while a test has it locked.
type gated struct {
	emulator.Content
	gate sync.RWMutex
}

// gatedFile publishes manifest m with one file whose download hangs until the
// test calls open, and with others.
func (h *host) gatedFile(size int64, others ...emulator.File) (open func()) {
	h.Helper()
	content := &gated{Content: emulator.Random(7, size)}
	h.provider.SetManifest("m", "2026.10", append(others, emulator.File{Name: "file.dat", Content: content})...)
	for _, endpoint := range []string{"Metadata", "SHA256"} { // from now on the emulator knows its digests
		res, err := http.Get(h.provider.URL() + "/" + endpoint + "/Data/2026.10/file.dat?id=" + url.QueryEscape(customerID))
		h.must(err)
		res.Body.Close()
		same(h, endpoint, 200, res.StatusCode)
	}
	h.expect(0, "get", "Data/2026.10/file.dat") // and its ETag
	h.provider.ResetRequests()
	content.gate.Lock()
	open = sync.OnceFunc(content.gate.Unlock)
	h.Cleanup(open)
	return open
}

func (c *gated) Open() (io.ReadSeekCloser, error) {
	r, err := c.Content.Open()
	return &gatedReader{r, c}, err
}

type gatedReader struct {
	io.ReadSeekCloser
	content *gated
}

func (r *gatedReader) Read(p []byte) (int, error) {
	r.content.gate.RLock()
	defer r.content.gate.RUnlock()
	return r.ReadSeekCloser.Read(p)
}

// syncOutput is the output of `sync --json`.
type syncOutput struct {
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

// sync runs `sync --json` and requires its exit code.
func (h *host) sync(code int, args ...string) (r syncOutput) {
	h.Helper()
	out := h.expect(code, append([]string{"sync", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out.stdout), &r); err != nil {
		h.Fatalf("sync --json printed %q: %v", out.stdout, err)
	}
	return r
}

// printedStatus is the output of `status --json`.
type printedStatus struct {
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

func (h *host) status() (s printedStatus) {
	h.Helper()
	out := h.expect(0, "status", "--json")
	h.must(json.Unmarshal([]byte(out.stdout), &s))
	return s
}

// current is the target of the symlink that readers follow, "" for none.
func (h *host) current() string {
	target, _ := os.Readlink(filepath.Join(h.data, "current"))
	return target
}

// published returns the digests of a manifest's published files by path.
func (h *host) published(manifest string) map[string]string {
	h.Helper()
	root := filepath.Join(h.data, "current", manifest) + "/."
	files := map[string]string{}
	h.must(filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		files[rel] = h.digestOf(path)
		return err
	}))
	return files
}

func (h *host) digestOf(path string) string {
	h.Helper()
	f, err := os.Open(path)
	h.must(err)
	defer f.Close()
	return h.digest(f)
}

func (h *host) digest(r io.Reader) string {
	h.Helper()
	digest, err := digestOf(r)
	h.must(err)
	return digest
}

func digestOf(r io.Reader) (string, error) {
	sum := sha256.New()
	_, err := io.Copy(sum, r)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// downloads are the names of the files downloaded since the last call.
func (h *host) downloads() []string {
	names := []string{}
	for _, r := range h.provider.Requests() {
		if r.Host == emulator.HostDownload {
			names = append(names, filepath.Base(r.Path))
		}
	}
	slices.Sort(names)
	h.provider.ResetRequests()
	return names
}

func (h *host) wantDownloads(names ...string) {
	h.Helper()
	if diff := cmp.Diff(append([]string{}, names...), h.downloads()); diff != "" {
		h.Errorf("downloads (-want +got):\n%s", diff)
	}
}

// flip changes one byte of a published file.
func (h *host) flip(path string) {
	h.Helper()
	path, err := filepath.EvalSymlinks(filepath.Join(h.data, "current", path))
	h.must(err)
	h.must(os.Chmod(path, 0o644))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	h.must(err)
	defer f.Close()
	var b [1]byte
	_, err = f.ReadAt(b[:], 0)
	h.must(err)
	_, err = f.WriteAt([]byte{b[0] ^ 1}, 0)
	h.must(err)
	h.must(os.Chmod(path, 0o444))
}

// secretForms are the spellings of the Customer ID, none of which may appear.
var secretForms = sync.OnceValue(func() []string {
	quoted, _ := json.Marshal(customerID)
	forms := []string{customerID, url.QueryEscape(customerID), url.PathEscape(customerID), url.QueryEscape(url.QueryEscape(customerID)), strings.Trim(string(quoted), `"`)}
	for _, f := range slices.Clone(forms) {
		forms = append(forms, strings.ToLower(f), strings.ToUpper(f))
	}
	basic := []byte("user:" + customerID)
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		forms = append(forms, encoding.EncodeToString([]byte(customerID)), encoding.EncodeToString(basic)[8:28])
	}
	return forms
})

func (h *host) secretFree(where, text string) {
	h.Helper()
	for _, form := range secretForms() {
		if strings.Contains(text, form) {
			h.Errorf("%s holds the Customer ID as %q:\n%s", where, form, text)
			return
		}
	}
}

// checkSecret looks for the Customer ID in the files of a host, and in its requests
// to other hosts than the configured one.
func (h *host) checkSecret() {
	_ = filepath.WalkDir(h.data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil // not there, or not a file
		}
		h.secretFree("a file's name", path)
		info, err := entry.Info()
		if err != nil || info.Size() > 1<<20 && !strings.Contains(path, "/state/") {
			return nil // the provider's random bytes
		}
		if data, err := os.ReadFile(path); err == nil {
			h.secretFree(path, string(data))
		}
		return nil
	})
	for _, r := range h.provider.Requests() {
		text := fmt.Sprint(r.Path, "?", r.RawQuery, r.Header)
		if r.Host == emulator.HostDownload {
			h.secretFree("request to the download host", text)
		}
		if r.Header.Get("Referer") != "" {
			h.Errorf("request with a Referer: %s", text)
		}
	}
}

// same fails with a diff.
func same[T any](h *host, what string, want, got T) {
	h.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		h.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (h *host) contains(what, text string, parts ...string) {
	h.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			h.Errorf("%s does not say %q:\n%s", what, part, text)
		}
	}
}
