package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"syncd/internal/emulator"
)

func TestDaemonSyncsAtStartAndOnSIGUSR1(t *testing.T) {
	t.Parallel()
	h := newHost(t).withRace()
	p := h.daemon()
	same(h, "trigger", "start", p.logged("sync")["trigger"])
	same(h, "current", "generations/000001", h.current())

	release := h.provider.AdvanceSample()
	asked := time.Now()
	p.signal(syscall.SIGUSR1)
	h.eventually("generation 2", func() bool { return h.current() == "generations/000002" })
	t.Logf("SIGUSR1 to swap: %s", time.Since(asked))
	same(h, "trigger", "signal", p.loggedTimes("sync", 2)["trigger"])
	same(h, "release", release, h.status().Manifests[0].Release)
	p.terminate()
	p.logged("stopped")
}

func TestSIGUSR1DuringASyncRunsAfterIt(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m").withRace()
	open := h.gatedFile(1000)
	p := h.daemon()
	h.downloading("file.dat")
	h.provider.SetManifest("m", "2026.11", emulator.File{Name: "new.dat", Content: emulator.Text("new")})
	for range 3 {
		p.signal(syscall.SIGUSR1)
	}
	same(h, "syncs that ended", 0, len(p.events("sync")))
	open()
	same[any](h, "first sync", "2026.10", manifestsOf(p.logged("sync"))[0]["release"])
	second := p.loggedTimes("sync", 2)
	same(h, "second sync", []any{"signal", "2026.11"}, []any{second["trigger"], manifestsOf(second)[0]["release"]})
	p.terminate()
}

// downloading waits until a download is running.
func (h *host) downloading(name string) {
	h.Helper()
	h.eventually("a download of "+name, func() bool {
		for _, r := range h.provider.Requests() {
			if r.Host == emulator.HostDownload && strings.HasSuffix(r.Path, "/"+name) {
				return true
			}
		}
		return false
	})
}

func manifestsOf(event map[string]any) (all []map[string]any) {
	list, _ := event["manifests"].([]any)
	for _, m := range list {
		all = append(all, m.(map[string]any))
	}
	return all
}

func TestSIGHUPAddsChangesAndRemovesManifests(t *testing.T) {
	t.Parallel()
	h := newHost(t).withRace()
	p := h.daemon()
	p.logged("sync")

	reload := func(n int, manifests ...string) {
		t.Helper()
		h.settings.manifests = manifests
		h.configure()
		p.signal(syscall.SIGHUP)
		p.loggedTimes("configuration reloaded", n)
	}
	reload(1, "dq_addr_data", "dq_phone_data")
	same(h, "trigger", "reload", p.loggedTimes("sync", 2)["trigger"])
	same(h, "served", []string{"dq_addr_data", "dq_phone_data"}, h.served())

	reload(2, "dq_addr_data\n    release: 2026.09", "dq_phone_data")
	changed := p.loggedTimes("sync", 3)
	same(h, "synced", 1, len(manifestsOf(changed)))
	same(h, "release", "2026.09", h.status().Manifests[0].Release)

	reload(3, "dq_phone_data")
	p.logged("left the configuration and stays served as it is: `syncd forget` removes it, or `removed: drop` in the configuration")
	p.signal(syscall.SIGUSR1)
	p.loggedTimes("sync", 4)
	same(h, "served after a sync", []string{"dq_addr_data", "dq_phone_data"}, h.served())
	orphan := h.status().Manifests[1]
	same(h, "orphan", "dq_addr_data", orphan.Name)
	same(h, "state", "orphaned", orphan.State)
	_, metrics := p.get("/metrics")
	if strings.Contains(metrics, "dq_addr_data") || !strings.Contains(metrics, "syncd_orphaned_manifests 1") {
		t.Error("the metrics count a removed manifest")
	}
	h.expect(1, "forget", "dq_phone_data")
	h.expect(1, "forget", "nowhere")
	if out := h.expect(0, "explain", "dq_addr_data").stdout; !strings.Contains(out, "`syncd forget dq_addr_data` removes it") {
		t.Error(out)
	}
	h.expect(0, "verify", "dq_addr_data")
	h.expect(0, "forget", "dq_addr_data")
	same(h, "served after forget", []string{"dq_phone_data"}, h.served())
	same(h, "manifests of the status", 1, len(h.status().Manifests))
	p.terminate()
}

// served are the manifests in current.
func (h *host) served() (names []string) {
	h.Helper()
	for _, name := range namesIn(h, filepath.Join(h.data, "current")) {
		if filepath.Ext(name) == "" {
			names = append(names, name)
		}
	}
	return names
}

func TestSIGHUPWithABrokenConfigurationChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHost(t).withRace()
	p := h.daemon()
	p.logged("sync")
	h.settings.more = "schedule: " + customerID
	h.configure()
	p.signal(syscall.SIGHUP)
	event := p.logged("configuration not reloaded: the old one stays in force")
	h.contains("error", fmt.Sprint(event["error"]), "syncd.yaml:", "schedule")
	h.settings.more = ""
	h.settings.id = "customer_id_file: absent"
	h.configure()
	p.signal(syscall.SIGHUP)
	p.loggedTimes("configuration not reloaded: the old one stays in force", 2)

	h.settings.id = "customer_id_file: id"
	h.configure()
	release := h.provider.AdvanceSample()
	p.signal(syscall.SIGUSR1)
	same[any](h, "release", release, manifestsOf(p.loggedTimes("sync", 2))[0]["release"])
	p.terminate()
}

func TestSIGHUPReadsTheCustomerIDAgainAndWarnsAboutRestarts(t *testing.T) {
	t.Parallel()
	h := newHost(t).withRace()
	h.write("id", "expired-id-of-old", 0o600)
	p := h.daemon()
	same(h, "first sync", "failed", manifestsOf(p.logged("sync"))[0]["result"])
	h.write("id", customerID, 0o600)
	data := h.data
	h.data = h.path("elsewhere")
	h.configure()
	h.data = data
	p.signal(syscall.SIGHUP)
	p.logged("configuration reloaded")
	h.contains("log", p.stderr.String(), "data_dir", "restart")
	p.signal(syscall.SIGUSR1)
	h.eventually("generation 1", func() bool { return h.current() == "generations/000001" })
	p.terminate()
	if _, err := os.Stat(h.path("elsewhere")); err == nil {
		t.Error("the new data_dir was used without a restart")
	}
	if strings.Contains(p.stderr.String(), "expired-id-of-old") {
		t.Error("the old Customer ID is in the log")
	}
}

// slowFile publishes one big file that arrives slowly over one connection, so that the
// size of the partial file is the number of received bytes.
func slowFile(t *testing.T) *host {
	t.Helper()
	h := newHost(t, "big").withRace()
	h.settings.more = "transfers: {segments: 1}"
	h.configure()
	h.provider.SetManifest("big", "2026.10",
		emulator.File{Name: "small", Content: emulator.Text("small")},
		emulator.File{Name: "big.dat", Content: emulator.Random(7, 64<<20)})
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindSlow, Rate: 3 << 20, Path: "*/big.dat", Host: emulator.HostDownload})
	return h
}

// partial waits for an unfinished download of over 2 MiB and returns its size.
func (h *host) partial() (size int64) {
	h.Helper()
	h.eventually("2 MiB of an unfinished download", func() bool {
		matches, _ := filepath.Glob(filepath.Join(h.data, "partial", "*"))
		for _, path := range matches {
			if info, err := os.Stat(path); err == nil {
				size = max(size, info.Size())
			}
		}
		return size > 2<<20
	})
	return size
}

// wantContinued requires the big file to be complete, and resumed by a Range request.
func (h *host) wantContinued(atLeast int64) {
	h.Helper()
	var ranges []string
	var sent int64
	for _, r := range h.provider.Requests() {
		if r.Host == emulator.HostDownload {
			ranges = append(ranges, fmt.Sprintf("%s %s %d", filepath.Base(r.Path), r.Header.Get("Range"), r.Status))
			sent += r.BytesSent
		}
	}
	if len(ranges) != 1 || !strings.HasPrefix(ranges[0], "big.dat bytes=") || !strings.HasSuffix(ranges[0], " 206") {
		h.Errorf("the next run asked for %q, want big.dat by Range and nothing else", ranges)
	}
	if sent > 64<<20-atLeast {
		h.Errorf("%d bytes came again, of which %d were there", sent, atLeast)
	}
	content, err := emulator.Random(7, 64<<20).Open()
	h.must(err)
	same(h, "big.dat", h.digest(content), h.published("big")["big.dat"])
}

func TestSIGTERMKeepsAnUnfinishedDownload(t *testing.T) {
	t.Parallel()
	h := slowFile(t)
	p := h.daemon()
	size := h.partial()
	asked := time.Now()
	p.terminate()
	t.Logf("SIGTERM during a download to exit: %s", time.Since(asked))
	same(h, "current", "", h.current())

	h.provider.ClearFaults()
	h.provider.ResetRequests()
	p = h.daemon()
	same(h, "result", "updated", manifestsOf(p.logged("sync"))[0]["result"])
	h.wantContinued(size)
	same(h, "left in partial/", []string{}, namesIn(h, filepath.Join(h.data, "partial")))
	p.terminate()
}

func TestNextRunContinuesAfterKill9(t *testing.T) {
	t.Parallel()
	h := slowFile(t)
	p := h.start("sync")
	size := h.partial()
	h.must(p.cmd.Process.Kill())
	p.wait()
	same(h, "current", "", h.current())
	h.provider.ClearFaults()
	h.provider.ResetRequests()
	h.expect(0, "status")
	same(h, "result", "updated", h.sync(0).Manifests[0].Result)
	h.wantContinued(size)
}

func TestSIGINTSaysThatDownloadsAreKept(t *testing.T) {
	t.Parallel()
	h := slowFile(t)
	p := h.start("sync")
	h.partial()
	p.signal(syscall.SIGINT)
	same(h, "exit code", 1, p.wait())
	h.contains("stderr", p.stderr.String(), "interrupted", "next sync")
}

func TestSIGINTLeavesTheDaemonsSyncRunning(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m").withRace()
	open := h.gatedFile(1000)
	d := h.daemon()
	h.downloading("file.dat")
	p := h.start("sync")
	h.eventually("the command shows the daemon's sync", func() bool { return strings.Contains(p.stderr.String(), "0 of 1 files") })
	p.signal(syscall.SIGINT)
	same(h, "exit code", 1, p.wait())
	h.contains("stderr", p.stderr.String(), "interrupted", "the running syncd continues the sync")
	open()
	h.eventually("the release is served", func() bool { return h.current() != "" })
	d.terminate()
}

func TestSignalAfterTheSwapStillExits0(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m").withRace()
	open := h.gatedFile(1000)
	p := h.start("sync")
	var other net.Conn
	h.eventually("the command listens", func() (listens bool) {
		var err error
		other, err = net.Dial("unix", filepath.Join(h.data, "state", "syncd.sock"))
		return err == nil
	})
	defer other.Close()
	_, err := io.WriteString(other, "GET /status HTTP/1.1\r\n") // the command waits for the rest
	h.must(err)
	open()
	h.eventually("the release is served", func() bool { return h.current() != "" })
	p.signal(syscall.SIGTERM)
	same(h, "exit code", 0, p.wait())
	h.contains("stdout", p.stdout.String(), "generation 1 is served")
}

func TestSecondDaemonNamesTheRunningProcess(t *testing.T) {
	t.Parallel()
	h := newHost(t).withRace()
	p := h.daemon()
	p.logged("sync")
	r := h.expect(1, "run")
	h.contains("stderr", r.stderr, fmt.Sprintf("process %d", p.cmd.Process.Pid), "another syncd")
	data, err := os.ReadFile(filepath.Join(h.data, "state", "lock"))
	h.must(err)
	same(h, "lock", fmt.Sprintln(p.cmd.Process.Pid), string(data))
	h.expect(0, "healthcheck")
	p.terminate()
	p = h.daemon() // the lock ended with its process
	p.terminate()
}

func TestChangingCommandsGoThroughTheDaemon(t *testing.T) {
	t.Parallel()
	h := newHost(t).withRace()
	p := h.daemon()
	p.logged("sync")

	h.provider.AdvanceSample()
	r := h.sync(0)
	same(h, "sync", []any{2, "updated", 1}, []any{r.Generation, r.Manifests[0].Result, r.Manifests[0].FilesDownloaded})
	same(h, "trigger", "command", p.loggedTimes("sync", 2)["trigger"])
	h.contains("sync", h.expect(0, "sync").stdout, "unchanged")
	h.expect(2, "sync", "nope")

	h.contains("rollback", h.expect(0, "rollback").stdout, "generation 3 is served")
	p.logged("rollback")
	same(h, "state", "held", h.status().Manifests[0].State)

	h.flip("dq_addr_data/ews.txt")
	h.contains("verify", h.expect(1, "verify").stdout, "DAMAGED")
	h.contains("repair", h.expect(0, "verify", "--repair").stdout, "repaired")
	same(h, "repaired", true, p.logged("damage")["repaired"])
	h.expect(0, "verify")

	h.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404})
	h.contains("failed sync", h.expect(1, "sync").stderr, "404")
	h.provider.ClearFaults()
	same(h, "dry run", 3, h.sync(0, "--dry-run").Generation)
	same(h, "forced", "updated", h.sync(0, "--force").Manifests[0].Result)
	same(h, "generation of the daemon", 4, h.status().Generation)
	p.terminate()
}

func TestSyncBesideAnotherSyncGoesThroughIt(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m").withRace()
	open := h.gatedFile(1000)
	first := h.start("sync", "--json")
	h.downloading("file.dat")
	same(h, "state", "syncing", h.status().Manifests[0].State)
	h.contains("second daemon", h.expect(1, "run").stderr, fmt.Sprintf("process %d", first.cmd.Process.Pid))
	second := h.start("sync", "--json")
	open()
	same(h, "exit of the first", 0, first.wait())
	same(h, "exit of the second", 0, second.wait())
	h.contains("first", first.stdout.String(), `"updated"`)
	h.contains("second", second.stdout.String(), `"unchanged"`)
	same(h, "generation", 1, h.status().Generation)
}

func TestDaemonIsReadyAtOnceWithDataOnDisk(t *testing.T) {
	t.Parallel()
	h := newHost(t).withRace()
	h.sync(0)
	h.provider.Close()
	p := h.daemon()
	code, _ := p.get("/readyz")
	same(h, "readyz", 200, code)
	same(h, "sync", "failed", manifestsOf(p.logged("sync"))[0]["result"])
	code, _ = p.get("/readyz?max_age=48h")
	same(h, "readyz", 200, code)
	p.terminate()
}

func TestHealthReadinessAndAPIOfTheDaemon(t *testing.T) {
	t.Parallel()
	h := newHost(t).withRace()
	fault := h.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404})
	p := h.daemon()
	p.logged("sync")
	code, body := p.get("/healthz")
	same(h, "healthz", "200 ok\n", fmt.Sprint(code, " ", body))
	code, body = p.get("/readyz")
	same(h, "readyz", 503, code)
	h.contains("readyz", body, "dq_addr_data has no data yet")
	code, _ = p.get("/readyz?max_age=soon")
	same(h, "readyz with a bad age", 400, code)

	h.provider.RemoveFault(fault)
	code, _ = p.request(http.MethodPost, "/api/v1/sync", "")
	same(h, "sync", 202, code)
	same(h, "trigger", "api", p.loggedTimes("sync", 2)["trigger"])
	code, _ = p.get("/readyz?max_age=1h")
	same(h, "readyz", 200, code)
	code, body = p.get("/readyz?max_age=1ns")
	same(h, "readyz", 503, code)
	h.contains("readyz", body, "dq_addr_data was last up to date")

	code, _ = p.request(http.MethodPost, "/api/v1/sync", `{"manifests": ["dq_addr_data"]}`)
	same(h, "sync of one", 202, code)
	p.loggedTimes("sync", 3)
	for body, want := range map[string]int{`{"manifests": ["nope"]}`: 404, `nonsense`: 400, `{"force": true}`: 400} {
		code, _ = p.request(http.MethodPost, "/api/v1/sync", body)
		same(h, "sync of "+body, want, code)
	}
	code, _ = p.get("/api/v1/sync")
	same(h, "GET of sync", 405, code)
	code, _ = p.get("/nope")
	same(h, "unknown path", 404, code)
	p.terminate()
}

func TestMetricsExistFromTheStartAndFollowSyncs(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m").withRace()
	open := h.gatedFile(1000)
	p := h.daemon()
	h.downloading("file.dat")
	_, text := p.get("/metrics")
	start := series(text)
	for _, name := range []string{
		`syncd_sync_runs_total{manifest="m",result="updated"}`,
		`syncd_sync_runs_total{manifest="m",result="unchanged"}`,
		`syncd_sync_runs_total{manifest="m",result="failed"}`,
		`syncd_sync_runs_total{manifest="m",result="refused"}`,
		`syncd_sync_duration_seconds_count`,
		`syncd_download_bytes_total{manifest="m"}`,
		`syncd_files_downloaded_total{manifest="m"}`,
		`syncd_verify_failures_total{manifest="m"}`,
		`syncd_mirror_bytes{manifest="m"}`,
		`syncd_last_check_timestamp_seconds{manifest="m"}`,
		`syncd_last_success_timestamp_seconds{manifest="m"}`,
	} {
		if value, there := start[name]; !there || value != "0" {
			t.Errorf("at the start %s is %q, want 0", name, value)
		}
	}
	for reason := range strings.FieldsSeq("hash_mismatch bad_name bad_release path_clash empty shrink downgrade no_space too_large bad_shape insecure") {
		if start[fmt.Sprintf(`syncd_refusals_total{manifest="m",reason=%q}`, reason)] != "0" {
			t.Errorf("no series for refusals because of %s", reason)
		}
	}
	h.contains("metrics", text, "syncd_build_info{", "syncd_disk_free_bytes ")

	open()
	p.logged("sync")
	_, text = p.get("/metrics")
	after := series(text)
	for name, want := range map[string]string{
		`syncd_sync_runs_total{manifest="m",result="updated"}`:      "1",
		`syncd_sync_duration_seconds_count`:                         "1",
		`syncd_files_downloaded_total{manifest="m"}`:                "1",
		`syncd_http_requests_total{code="302",endpoint="Download"}`: "1",
		`syncd_http_requests_total{code="200",endpoint="Hash"}`:     "1",
	} {
		same(h, name, want, after[name])
	}
	h.contains("metrics", text, `syncd_release_info{manifest="m",release="2026.10",revision="`)
	same(h, "mirrored and downloaded bytes", after[`syncd_mirror_bytes{manifest="m"}`], after[`syncd_download_bytes_total{manifest="m"}`])

	h.flip("m/file.dat")
	h.expect(0, "verify", "--repair")
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindShape, Shape: "html", Path: "/Manifest/*"})
	h.sync(1)
	_, text = p.get("/metrics")
	after = series(text)
	for name, want := range map[string]string{
		`syncd_verify_failures_total{manifest="m"}`:             "1",
		`syncd_refusals_total{manifest="m",reason="bad_shape"}`: "1",
		`syncd_sync_runs_total{manifest="m",result="refused"}`:  "1",
	} {
		same(h, name, want, after[name])
	}
	promtool(t, text)
	p.terminate()
}

// series parses the exposition format.
func series(text string) map[string]string {
	all := map[string]string{}
	for scanner := bufio.NewScanner(strings.NewReader(text)); scanner.Scan(); {
		if name, value, ok := cutLast(scanner.Text(), " "); ok && !strings.HasPrefix(name, "#") {
			all[name] = value
		}
	}
	return all
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func promtool(t *testing.T, text string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Log("NOT CHECKED by promtool, which is not installed")
		return
	}
	check := exec.Command(path, "check", "metrics")
	check.Stdin = strings.NewReader(text)
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

func TestScheduledPollCostsOneConditionalRequest(t *testing.T) {
	t.Parallel()
	h := newHost(t).withRace()
	h.settings.more = `schedule: "@every 1s"`
	h.configure()
	p := h.daemon()
	p.logged("sync")
	h.eventually("a poll", func() bool {
		h.provider.ResetRequests()
		p.loggedTimes("sync", len(p.events("sync"))+1)
		requests := h.provider.Requests()
		return len(requests) > 0 && requests[len(requests)-1].Status == http.StatusNotModified && len(requests) <= 2
	})
	release := h.provider.AdvanceSample()
	h.eventually("the new release", func() bool { return h.status().Manifests[0].Release == release })
	p.terminate()
}

func TestControlSocketIsPrivateAndLogLinesAreJSON(t *testing.T) {
	t.Parallel()
	h := newHost(t).withRace()
	p := h.daemon()
	p.logged("sync")
	info, err := os.Stat(filepath.Join(h.data, "state", "syncd.sock"))
	h.must(err)
	same(h, "mode", os.FileMode(0o600), info.Mode().Perm())
	for line := range strings.Lines(p.stderr.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("log line is not JSON: %s", line)
		}
	}
	p.terminate()
	if _, err := os.Lstat(filepath.Join(h.data, "state", "syncd.sock")); err == nil {
		t.Error("the socket outlived its daemon")
	}
}

func TestWebServerUsesTLSAndLoginsAndHealthcheckNeedsNeither(t *testing.T) {
	t.Parallel()
	h := newHost(t).withRace()
	certificate, authority := selfSigned(h)
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	h.must(err)
	h.write("web.pem", authority+string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})), 0o600)
	// The password is "open sesame".
	h.write("web.yaml", "tls_server_config: {cert_file: web.pem, key_file: web.pem}\nbasic_auth_users:\n  reader: '$2a$04$t.RayMcqGd2LgwmDHSeoVu4z20uTzTQftut21EjpeVg4JAAlukA.a'\n", 0o600)
	text, err := os.ReadFile(h.path("syncd.yaml"))
	h.must(err)
	h.write("syncd.yaml", strings.Replace(string(text), "127.0.0.1:0}", "127.0.0.1:0, web_config: web.yaml}", 1), 0o600)
	p := h.daemon()
	p.logged("sync")

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(authority))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}, Timeout: patience}
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/api/v1/status"} {
		for password, want := range map[string]int{"": 401, "wrong": 401, "open sesame": 200} {
			req, err := http.NewRequest(http.MethodGet, "https"+strings.TrimPrefix(p.web, "http")+path, nil)
			h.must(err)
			if password != "" {
				req.SetBasicAuth("reader", password)
			}
			res, err := client.Do(req)
			h.must(err)
			res.Body.Close()
			same(h, fmt.Sprintf("%s with password %q", path, password), want, res.StatusCode)
		}
	}
	code, _ := p.get("/metrics")
	same(h, "plain http", 400, code)
	h.expect(0, "healthcheck", "--ready")
	p.terminate()
}

func TestCrossSitePostTriggersNoSync(t *testing.T) {
	t.Parallel()
	h := newHost(t).withRace()
	p := h.daemon()
	req, err := http.NewRequest(http.MethodPost, p.web+"/api/v1/sync", nil)
	h.must(err)
	req.Header.Set("Origin", "https://evil.example")
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	res, err := client.Do(req)
	h.must(err)
	res.Body.Close()
	same(h, "status", 403, res.StatusCode)
	p.signal(os.Interrupt)
	same(h, "exit after SIGINT", 0, p.wait())
}

func TestTakenListenAddressFailsWithItsKey(t *testing.T) {
	t.Parallel()
	h := newHost(t).withRace()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	h.must(err)
	defer taken.Close()
	text, err := os.ReadFile(h.path("syncd.yaml"))
	h.must(err)
	h.write("syncd.yaml", strings.Replace(string(text), "127.0.0.1:0}", taken.Addr().String()+"}", 1), 0o600)
	h.contains("stderr", h.expect(1, "run").stderr, "http.listen", "in use")
}

func TestSIGUSR1BehindABurstOfSIGHUPsIsNotLost(t *testing.T) {
	t.Parallel()
	h := newHost(t).withRace()
	p := h.daemon()
	p.logged("sync")
	for n := range times(10, 200) {
		for range 300 {
			p.signal(syscall.SIGHUP)
		}
		p.signal(syscall.SIGUSR1)
		for range 300 {
			p.signal(syscall.SIGHUP)
		}
		same(h, "trigger", "signal", p.loggedTimes("sync", n+2)["trigger"])
	}
	h.settings.manifests = []string{"dq_addr_data", "dq_phone_data"}
	h.configure()
	for range 300 {
		p.signal(syscall.SIGUSR1)
	}
	p.signal(syscall.SIGHUP)
	h.eventually("the new manifest is served", func() bool { return len(h.served()) == 2 })
	for range 300 {
		p.signal(syscall.SIGHUP)
		p.signal(syscall.SIGUSR1)
	}
	p.terminate()
}

// useWebConfig writes web.yaml, with basic auth, and configures it.
func (h *host) useWebConfig() {
	h.Helper()
	h.write("web.yaml", webUsers, 0o600)
	text, err := os.ReadFile(h.path("syncd.yaml"))
	h.must(err)
	h.write("syncd.yaml", strings.Replace(string(text), "127.0.0.1:0}", "127.0.0.1:0, web_config: web.yaml}", 1), 0o644)
}

// webUsers lets reader in, whose password is "open sesame".
const webUsers = "basic_auth_users: {reader: '$2a$04$t.RayMcqGd2LgwmDHSeoVu4z20uTzTQftut21EjpeVg4JAAlukA.a'}\n"

func TestSIGHUPWithABadWebConfigSaysThatTheOldOneStays(t *testing.T) {
	t.Parallel()
	h := newHost(t).withRace()
	h.useWebConfig()
	p := h.daemon()
	const refused = "http.web_config not reloaded: the old one stays in force"
	h.write("web.yaml", "hunter2: hunter2\n", 0o600)
	p.logged(refused) // by the watch, once
	for n := 1; n <= 2; n++ {
		p.signal(syscall.SIGHUP)
		p.loggedTimes("configuration reloaded", n)
		same(h, "refusals in the log", 1+n, len(p.events(refused)))
	}
	code, _ := p.get("/metrics")
	same(h, "without a password", 401, code)

	h.write("web.yaml", strings.Replace(webUsers, "reader", "other", 1), 0o600)
	p.signal(syscall.SIGHUP)
	p.loggedTimes("configuration reloaded", 3)
	same(h, "refusals in the log", 3, len(p.events(refused)))
	req, err := http.NewRequest(http.MethodGet, p.web+"/metrics", nil)
	h.must(err)
	req.SetBasicAuth("other", "open sesame")
	res, err := http.DefaultClient.Do(req)
	h.must(err)
	res.Body.Close()
	same(h, "with the new password, at once", 200, res.StatusCode)
	http.DefaultClient.CloseIdleConnections()
	p.terminate()
}

func TestEveryLineOfALogIsJSON(t *testing.T) {
	t.Parallel()
	h := newHost(t).withRace()
	certificate, authority := selfSigned(h)
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	h.must(err)
	h.write("web.pem", authority+string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})), 0o600)
	h.write("web.yaml", "tls_server_config: {cert_file: web.pem, key_file: web.pem}\nbasic_auth_users: {reader: '$2a$04$t.RayMcqGd2LgwmDHSeoVu4z20uTzTQftut21EjpeVg4JAAlukA.a'}\n", 0o600)
	plain, err := os.ReadFile(h.path("syncd.yaml"))
	h.must(err)
	h.write("syncd.yaml", strings.Replace(string(plain), "127.0.0.1:0}", "127.0.0.1:0, web_config: web.yaml}", 1), 0o644)
	p := h.daemon()
	code, _ := p.get("/metrics")
	same(h, "plain http to a TLS port", 400, code)
	h.eventually("net/http reports the handshake", func() bool { return strings.Contains(p.stderr.String(), "TLS handshake error") })
	h.write("web.yaml", "hunter2: hunter2\n", 0o600)
	p.logged("http.web_config not reloaded: the old one stays in force")
	h.must(os.Remove(h.path("web.pem")))
	conn, err := tls.Dial("tcp", strings.TrimPrefix(p.web, "http://"), &tls.Config{InsecureSkipVerify: true})
	if err == nil {
		conn.Close()
		t.Error("a handshake without a certificate")
	}
	p.terminate()
	logs := p.stderr.String()

	logs += h.expect(2, "run").stderr
	h.write("syncd.yaml", "retain: -1\njitter: soon\n"+string(plain), 0o644)
	logs += h.expect(2, "run").stderr
	h.must(os.Remove(h.path("syncd.yaml")))
	logs += h.expect(2, "run").stderr
	for line := range strings.Lines(logs) {
		if !json.Valid([]byte(line)) || !strings.Contains(line, `"level":`) {
			t.Errorf("log line is not JSON: %s", line)
		}
		if strings.Contains(line, "hunter2") {
			t.Errorf("a piece of web_config is in the log: %s", line)
		}
	}
}

func TestRequestsForOtherNamesAreRefusedUnlessConfigured(t *testing.T) {
	t.Parallel()
	h := newHost(t).withRace()
	text, err := os.ReadFile(h.path("syncd.yaml"))
	h.must(err)
	h.write("syncd.yaml", strings.Replace(string(text), "127.0.0.1:0}", "localhost:0, hosts: [mirror.example.net]}", 1), 0o644)
	p := h.daemon()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	for host, want := range map[string]int{"mirror.example.net:9797": 200, "localhost": 200, "127.0.0.1": 200, "evil.example:9797": 421} {
		req, err := http.NewRequest(http.MethodGet, p.web+"/api/v1/status", nil)
		h.must(err)
		req.Host = host
		res, err := client.Do(req)
		h.must(err)
		res.Body.Close()
		same(h, "status for "+host, want, res.StatusCode)
	}
	p.terminate()
	h.write("syncd.yaml", strings.Replace(string(text), "127.0.0.1:0}", "127.0.0.1:0, hosts: ['https://mirror.example.net:1']}", 1), 0o644)
	h.contains("stderr", h.expect(2, "config", "check").stderr, "http.hosts[0]: is not the name of a host; write the name alone")
}
