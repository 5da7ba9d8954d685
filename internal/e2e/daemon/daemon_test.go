package daemon_test

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

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

func TestDaemonSyncsAtStartAndOnSIGUSR1(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t).WithRace()
	p := h.Daemon()
	e2e.Same(h, "trigger", "start", p.Logged("sync")["trigger"])
	e2e.Same(h, "current", "generations/000001", h.Current())

	release := h.Provider.AdvanceSample()
	asked := time.Now()
	p.Signal(syscall.SIGUSR1)
	h.Eventually("generation 2", func() bool { return h.Current() == "generations/000002" })
	t.Logf("SIGUSR1 to swap: %s", time.Since(asked))
	e2e.Same(h, "trigger", "signal", p.LoggedTimes("sync", 2)["trigger"])
	e2e.Same(h, "release", release, h.Status().Manifests[0].Release)
	p.Terminate()
	p.Logged("stopped")
}

func TestSIGUSR1DuringASyncRunsAfterIt(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m").WithRace()
	open := h.GatedFile(1000)
	p := h.Daemon()
	downloading(h, "file.dat")
	h.Provider.SetManifest("m", "2026.11", emulator.File{Name: "new.dat", Content: emulator.Text("new")})
	for range 3 {
		p.Signal(syscall.SIGUSR1)
	}
	e2e.Same(h, "syncs that ended", 0, len(p.Events("sync")))
	open()
	e2e.Same[any](h, "first sync", "2026.10", manifestsOf(p.Logged("sync"))[0]["release"])
	second := p.LoggedTimes("sync", 2)
	e2e.Same(h, "second sync", []any{"signal", "2026.11"}, []any{second["trigger"], manifestsOf(second)[0]["release"]})
	p.Terminate()
}

// downloading waits until a download is running.
func downloading(h *e2e.Host, name string) {
	h.Helper()
	h.Eventually("a download of "+name, func() bool {
		for _, r := range h.Provider.Requests() {
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
	h := e2e.NewHost(t).WithRace()
	p := h.SyncedDaemon()

	reload := func(n int, manifests ...string) {
		t.Helper()
		h.Settings.Manifests = manifests
		h.Configure()
		p.Signal(syscall.SIGHUP)
		p.LoggedTimes("configuration reloaded", n)
	}
	reload(1, "dq_addr_data", "dq_phone_data")
	e2e.Same(h, "trigger", "reload", p.LoggedTimes("sync", 2)["trigger"])
	e2e.Same(h, "served", []string{"dq_addr_data", "dq_phone_data"}, h.Served())

	reload(2, "dq_addr_data\n    release: 2026.09", "dq_phone_data")
	changed := p.LoggedTimes("sync", 3)
	e2e.Same(h, "synced", 1, len(manifestsOf(changed)))
	e2e.Same(h, "release", "2026.09", h.Status().Manifests[0].Release)

	reload(3, "dq_phone_data")
	p.Logged("left the configuration and stays served as it is: `syncd forget` removes it, or `removed: drop` in the configuration")
	p.Signal(syscall.SIGUSR1)
	p.LoggedTimes("sync", 4)
	e2e.Same(h, "served after a sync", []string{"dq_addr_data", "dq_phone_data"}, h.Served())
	orphan := h.Status().Manifests[1]
	e2e.Same(h, "orphan", "dq_addr_data", orphan.Name)
	e2e.Same(h, "state", "orphaned", orphan.State)
	_, metrics := p.Get("/metrics")
	if strings.Contains(metrics, "dq_addr_data") || !strings.Contains(metrics, "syncd_orphaned_manifests 1") {
		t.Error("the metrics count a removed manifest")
	}
	h.Expect(1, "forget", "dq_phone_data")
	h.Expect(1, "forget", "nowhere")
	if out := h.Expect(0, "explain", "dq_addr_data").Stdout; !strings.Contains(out, "`syncd forget dq_addr_data` removes it") {
		t.Error(out)
	}
	h.Expect(0, "verify", "dq_addr_data")
	h.Expect(0, "forget", "dq_addr_data")
	e2e.Same(h, "served after forget", []string{"dq_phone_data"}, h.Served())
	e2e.Same(h, "manifests of the status", 1, len(h.Status().Manifests))
	p.Terminate()
}

func TestSIGHUPWithABrokenConfigurationChangesNothing(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t).WithRace()
	p := h.SyncedDaemon()
	h.ConfigureWith("schedule: " + e2e.CustomerID)
	p.Signal(syscall.SIGHUP)
	event := p.Logged("configuration not reloaded: the old one stays in force")
	h.Contains("error", fmt.Sprint(event["error"]), "syncd.yaml:", "schedule")
	h.Settings.More = ""
	h.Settings.ID = "customer_id_file: absent"
	h.Configure()
	p.Signal(syscall.SIGHUP)
	p.LoggedTimes("configuration not reloaded: the old one stays in force", 2)

	h.Settings.ID = "customer_id_file: id"
	h.Configure()
	release := h.Provider.AdvanceSample()
	p.Signal(syscall.SIGUSR1)
	e2e.Same[any](h, "release", release, manifestsOf(p.LoggedTimes("sync", 2))[0]["release"])
	p.Terminate()
}

func TestSIGHUPReadsTheCustomerIDAgainAndWarnsAboutRestarts(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t).WithRace()
	h.Write("id", "expired-id-of-old", 0o600)
	p := h.Daemon()
	e2e.Same(h, "first sync", "failed", manifestsOf(p.Logged("sync"))[0]["result"])
	h.Write("id", e2e.CustomerID, 0o600)
	data := h.Data
	h.Data = h.Path("elsewhere")
	h.Configure()
	h.Data = data
	p.Signal(syscall.SIGHUP)
	p.Logged("configuration reloaded")
	h.Contains("log", p.Stderr.String(), "data_dir", "restart")
	p.Signal(syscall.SIGUSR1)
	h.Eventually("generation 1", func() bool { return h.Current() == "generations/000001" })
	p.Terminate()
	if _, err := os.Stat(h.Path("elsewhere")); err == nil {
		t.Error("the new data_dir was used without a restart")
	}
	if strings.Contains(p.Stderr.String(), "expired-id-of-old") {
		t.Error("the old Customer ID is in the log")
	}
}

// wantContinued requires the big file to be complete, and resumed by a Range request.
func wantContinued(h *e2e.Host, atLeast int64) {
	h.Helper()
	var ranges []string
	var sent int64
	for _, r := range h.Provider.Requests() {
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
	h.Must(err)
	e2e.Same(h, "big.dat", h.Digest(content), h.Published("big")["big.dat"])
}

func TestSIGTERMKeepsAnUnfinishedDownload(t *testing.T) {
	t.Parallel()
	h := e2e.SlowFile(t)
	p := h.Daemon()
	size := h.Partial()
	asked := time.Now()
	p.Terminate()
	t.Logf("SIGTERM during a download to exit: %s", time.Since(asked))
	e2e.Same(h, "current", "", h.Current())

	h.Provider.ClearFaults()
	h.Provider.ResetRequests()
	p = h.Daemon()
	e2e.Same(h, "result", "updated", manifestsOf(p.Logged("sync"))[0]["result"])
	wantContinued(h, size)
	e2e.Same(h, "left in partial/", []string{}, e2e.NamesIn(h, filepath.Join(h.Data, "partial")))
	p.Terminate()
}

func TestNextRunContinuesAfterKill9(t *testing.T) {
	t.Parallel()
	h := e2e.SlowFile(t)
	p := h.Start("sync")
	size := h.Partial()
	h.Must(p.Cmd.Process.Kill())
	p.Wait()
	e2e.Same(h, "current", "", h.Current())
	h.Provider.ClearFaults()
	h.Provider.ResetRequests()
	h.Expect(0, "status")
	e2e.Same(h, "result", "updated", h.Sync(0).Manifests[0].Result)
	wantContinued(h, size)
}

func TestSIGINTSaysThatDownloadsAreKept(t *testing.T) {
	t.Parallel()
	h := e2e.SlowFile(t)
	p := h.Start("sync")
	h.Partial()
	p.Signal(syscall.SIGINT)
	e2e.Same(h, "exit code", 1, p.Wait())
	h.Contains("stderr", p.Stderr.String(), "interrupted", "next sync")
}

func TestSIGINTLeavesTheDaemonsSyncRunning(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m").WithRace()
	open := h.GatedFile(1000)
	d := h.Daemon()
	downloading(h, "file.dat")
	p := h.Start("sync")
	h.Eventually("the command shows the daemon's sync", func() bool { return strings.Contains(p.Stderr.String(), "0 of 1 files") })
	p.Signal(syscall.SIGINT)
	e2e.Same(h, "exit code", 1, p.Wait())
	h.Contains("stderr", p.Stderr.String(), "interrupted", "the running syncd continues the sync")
	open()
	h.Eventually("the release is served", func() bool { return h.Current() != "" })
	d.Terminate()
}

func TestSignalAfterTheSwapStillExits0(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m").WithRace()
	open := h.GatedFile(1000)
	p := h.Start("sync")
	var other net.Conn
	h.Eventually("the command listens", func() (listens bool) {
		var err error
		other, err = net.Dial("unix", filepath.Join(h.Data, "state", "syncd.sock"))
		return err == nil
	})
	defer other.Close()
	_, err := io.WriteString(other, "GET /status HTTP/1.1\r\n") // the command waits for the rest
	h.Must(err)
	open()
	h.Eventually("the release is served", func() bool { return h.Current() != "" })
	p.Signal(syscall.SIGTERM)
	e2e.Same(h, "exit code", 0, p.Wait())
	h.Contains("stdout", p.Stdout.String(), "generation 1 is served")
}

func TestSecondDaemonNamesTheRunningProcess(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t).WithRace()
	p := h.SyncedDaemon()
	r := h.Expect(1, "run")
	h.Contains("stderr", r.Stderr, fmt.Sprintf("process %d", p.Cmd.Process.Pid), "another syncd")
	data, err := os.ReadFile(filepath.Join(h.Data, "state", "lock"))
	h.Must(err)
	e2e.Same(h, "lock", fmt.Sprintln(p.Cmd.Process.Pid), string(data))
	h.Expect(0, "healthcheck")
	p.Terminate()
	p = h.Daemon() // the lock ended with its process
	p.Terminate()
}

func TestChangingCommandsGoThroughTheDaemon(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t).WithRace()
	p := h.SyncedDaemon()

	h.Provider.AdvanceSample()
	r := h.Sync(0)
	e2e.Same(h, "sync", []any{2, "updated", 1}, []any{r.Generation, r.Manifests[0].Result, r.Manifests[0].FilesDownloaded})
	e2e.Same(h, "trigger", "command", p.LoggedTimes("sync", 2)["trigger"])
	h.Contains("sync", h.Expect(0, "sync").Stdout, "unchanged")
	h.Expect(2, "sync", "nope")

	h.Contains("rollback", h.Expect(0, "rollback").Stdout, "generation 3 is served")
	p.Logged("rollback")
	e2e.Same(h, "state", "held", h.Status().Manifests[0].State)

	h.Flip("dq_addr_data/ews.txt")
	h.Contains("verify", h.Expect(1, "verify").Stdout, "DAMAGED")
	h.Contains("repair", h.Expect(0, "verify", "--repair").Stdout, "repaired")
	e2e.Same(h, "repaired", true, p.Logged("damage")["repaired"])
	h.Expect(0, "verify")

	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404})
	h.Contains("failed sync", h.Expect(1, "sync").Stderr, "404")
	h.Provider.ClearFaults()
	e2e.Same(h, "dry run", 3, h.Sync(0, "--dry-run").Generation)
	e2e.Same(h, "forced", "updated", h.Sync(0, "--force").Manifests[0].Result)
	e2e.Same(h, "generation of the daemon", 4, h.Status().Generation)
	p.Terminate()
}

func TestSyncBesideAnotherSyncGoesThroughIt(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m").WithRace()
	open := h.GatedFile(1000)
	first := h.Start("sync", "--json")
	downloading(h, "file.dat")
	e2e.Same(h, "state", "syncing", h.Status().Manifests[0].State)
	h.Contains("second daemon", h.Expect(1, "run").Stderr, fmt.Sprintf("process %d", first.Cmd.Process.Pid))
	second := h.Start("sync", "--json")
	open()
	e2e.Same(h, "exit of the first", 0, first.Wait())
	e2e.Same(h, "exit of the second", 0, second.Wait())
	h.Contains("first", first.Stdout.String(), `"updated"`)
	h.Contains("second", second.Stdout.String(), `"unchanged"`)
	e2e.Same(h, "generation", 1, h.Status().Generation)
}

func TestDaemonIsReadyAtOnceWithDataOnDisk(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t).WithRace()
	h.Sync(0)
	h.Provider.Close()
	p := h.Daemon()
	code, _ := p.Get("/readyz")
	e2e.Same(h, "readyz", 200, code)
	e2e.Same(h, "sync", "failed", manifestsOf(p.Logged("sync"))[0]["result"])
	code, _ = p.Get("/readyz?max_age=48h")
	e2e.Same(h, "readyz", 200, code)
	p.Terminate()
}

func TestHealthReadinessAndAPIOfTheDaemon(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t).WithRace()
	fault := h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404})
	p := h.SyncedDaemon()
	code, body := p.Get("/healthz")
	e2e.Same(h, "healthz", "200 ok\n", fmt.Sprint(code, " ", body))
	code, body = p.Get("/readyz")
	e2e.Same(h, "readyz", 503, code)
	h.Contains("readyz", body, "dq_addr_data has no data yet")
	code, _ = p.Get("/readyz?max_age=soon")
	e2e.Same(h, "readyz with a bad age", 400, code)

	h.Provider.RemoveFault(fault)
	code, _ = p.Request(http.MethodPost, "/api/v1/sync", "")
	e2e.Same(h, "sync", 202, code)
	e2e.Same(h, "trigger", "api", p.LoggedTimes("sync", 2)["trigger"])
	code, _ = p.Get("/readyz?max_age=1h")
	e2e.Same(h, "readyz", 200, code)
	code, body = p.Get("/readyz?max_age=1ns")
	e2e.Same(h, "readyz", 503, code)
	h.Contains("readyz", body, "dq_addr_data was last up to date")

	code, _ = p.Request(http.MethodPost, "/api/v1/sync", `{"manifests": ["dq_addr_data"]}`)
	e2e.Same(h, "sync of one", 202, code)
	p.LoggedTimes("sync", 3)
	for body, want := range map[string]int{`{"manifests": ["nope"]}`: 404, `nonsense`: 400, `{"force": true}`: 400} {
		code, _ = p.Request(http.MethodPost, "/api/v1/sync", body)
		e2e.Same(h, "sync of "+body, want, code)
	}
	code, _ = p.Get("/api/v1/sync")
	e2e.Same(h, "GET of sync", 405, code)
	code, _ = p.Get("/nope")
	e2e.Same(h, "unknown path", 404, code)
	p.Terminate()
}

func TestMetricsExistFromTheStartAndFollowSyncs(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m").WithRace()
	open := h.GatedFile(1000)
	p := h.Daemon()
	downloading(h, "file.dat")
	_, text := p.Get("/metrics")
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
	h.Contains("metrics", text, "syncd_build_info{", "syncd_disk_free_bytes ")

	open()
	p.Logged("sync")
	_, text = p.Get("/metrics")
	after := series(text)
	for name, want := range map[string]string{
		`syncd_sync_runs_total{manifest="m",result="updated"}`:      "1",
		`syncd_sync_duration_seconds_count`:                         "1",
		`syncd_files_downloaded_total{manifest="m"}`:                "1",
		`syncd_http_requests_total{code="302",endpoint="Download"}`: "1",
		`syncd_http_requests_total{code="200",endpoint="Hash"}`:     "1",
	} {
		e2e.Same(h, name, want, after[name])
	}
	h.Contains("metrics", text, `syncd_release_info{manifest="m",release="2026.10",revision="`)
	e2e.Same(h, "mirrored and downloaded bytes", after[`syncd_mirror_bytes{manifest="m"}`], after[`syncd_download_bytes_total{manifest="m"}`])

	h.Flip("m/file.dat")
	h.Expect(0, "verify", "--repair")
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindShape, Shape: "html", Path: "/Manifest/*"})
	h.Sync(1)
	_, text = p.Get("/metrics")
	after = series(text)
	for name, want := range map[string]string{
		`syncd_verify_failures_total{manifest="m"}`:             "1",
		`syncd_refusals_total{manifest="m",reason="bad_shape"}`: "1",
		`syncd_sync_runs_total{manifest="m",result="refused"}`:  "1",
	} {
		e2e.Same(h, name, want, after[name])
	}
	promtool(t, text)
	p.Terminate()
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
	h := e2e.NewHost(t).WithRace()
	h.ConfigureWith(`schedule: "@every 1s"`)
	p := h.SyncedDaemon()
	h.Eventually("a poll", func() bool {
		h.Provider.ResetRequests()
		p.LoggedTimes("sync", len(p.Events("sync"))+1)
		requests := h.Provider.Requests()
		return len(requests) > 0 && requests[len(requests)-1].Status == http.StatusNotModified && len(requests) <= 2
	})
	release := h.Provider.AdvanceSample()
	h.Eventually("the new release", func() bool { return h.Status().Manifests[0].Release == release })
	p.Terminate()
}

func TestControlSocketIsPrivateAndLogLinesAreJSON(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t).WithRace()
	p := h.SyncedDaemon()
	info, err := os.Stat(filepath.Join(h.Data, "state", "syncd.sock"))
	h.Must(err)
	e2e.Same(h, "mode", os.FileMode(0o600), info.Mode().Perm())
	for line := range strings.Lines(p.Stderr.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("log line is not JSON: %s", line)
		}
	}
	p.Terminate()
	if _, err := os.Lstat(filepath.Join(h.Data, "state", "syncd.sock")); err == nil {
		t.Error("the socket outlived its daemon")
	}
}

func TestWebServerUsesTLSAndLoginsAndHealthcheckNeedsNeither(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t).WithRace()
	authority := useTLS(h)
	p := h.SyncedDaemon()

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(authority))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}, Timeout: e2e.Patience}
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/api/v1/status"} {
		for password, want := range map[string]int{"": 401, "wrong": 401, "open sesame": 200} {
			req, err := http.NewRequest(http.MethodGet, "https"+strings.TrimPrefix(p.Web, "http")+path, nil)
			h.Must(err)
			if password != "" {
				req.SetBasicAuth("reader", password)
			}
			res, err := client.Do(req)
			h.Must(err)
			res.Body.Close()
			e2e.Same(h, fmt.Sprintf("%s with password %q", path, password), want, res.StatusCode)
		}
	}
	code, _ := p.Get("/metrics")
	e2e.Same(h, "plain http", 400, code)
	h.Expect(0, "healthcheck", "--ready")
	p.Terminate()
}

func TestCrossSitePostTriggersNoSync(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t).WithRace()
	p := h.Daemon()
	req, err := http.NewRequest(http.MethodPost, p.Web+"/api/v1/sync", nil)
	h.Must(err)
	req.Header.Set("Origin", "https://evil.example")
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: e2e.Patience}
	res, err := client.Do(req)
	h.Must(err)
	res.Body.Close()
	e2e.Same(h, "status", 403, res.StatusCode)
	p.Signal(os.Interrupt)
	e2e.Same(h, "exit after SIGINT", 0, p.Wait())
}

func TestTakenListenAddressFailsWithItsKey(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t).WithRace()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	h.Must(err)
	defer taken.Close()
	text := h.Read("syncd.yaml")
	h.Write("syncd.yaml", strings.Replace(string(text), "127.0.0.1:0}", taken.Addr().String()+"}", 1), 0o600)
	h.Contains("stderr", h.Expect(1, "run").Stderr, "http.listen", "in use")
}

func TestSIGUSR1BehindABurstOfSIGHUPsIsNotLost(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t).WithRace()
	p := h.SyncedDaemon()
	for n := range e2e.Times(10, 200) {
		for range 300 {
			p.Signal(syscall.SIGHUP)
		}
		p.Signal(syscall.SIGUSR1)
		for range 300 {
			p.Signal(syscall.SIGHUP)
		}
		e2e.Same(h, "trigger", "signal", p.LoggedTimes("sync", n+2)["trigger"])
	}
	h.Settings.Manifests = []string{"dq_addr_data", "dq_phone_data"}
	h.Configure()
	for range 300 {
		p.Signal(syscall.SIGUSR1)
	}
	p.Signal(syscall.SIGHUP)
	h.Eventually("the new manifest is served", func() bool { return len(h.Served()) == 2 })
	for range 300 {
		p.Signal(syscall.SIGHUP)
		p.Signal(syscall.SIGUSR1)
	}
	p.Terminate()
}

// useWebConfig writes web.yaml, with basic auth and further lines, and configures it.
func useWebConfig(h *e2e.Host, more string) {
	h.Helper()
	h.Write("web.yaml", webUsers+more, 0o600)
	h.Write("syncd.yaml", strings.Replace(string(h.Read("syncd.yaml")), "127.0.0.1:0}", "127.0.0.1:0, web_config: web.yaml}", 1), 0o644)
}

// useTLS is useWebConfig with a certificate of an authority, which it returns.
func useTLS(h *e2e.Host) (authority string) {
	h.Helper()
	certificate, authority := e2e.SelfSigned(h)
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	h.Must(err)
	h.Write("web.pem", authority+string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})), 0o600)
	useWebConfig(h, "tls_server_config: {cert_file: web.pem, key_file: web.pem}\n")
	return authority
}

// webUsers lets reader in, whose password is "open sesame".
const webUsers = "basic_auth_users: {reader: '$2a$04$t.RayMcqGd2LgwmDHSeoVu4z20uTzTQftut21EjpeVg4JAAlukA.a'}\n"

func TestSIGHUPWithABadWebConfigSaysThatTheOldOneStays(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t).WithRace()
	useWebConfig(h, "")
	p := h.Daemon()
	const refused = "http.web_config not reloaded: the old one stays in force"
	h.Write("web.yaml", "hunter2: hunter2\n", 0o600)
	p.Logged(refused) // by the watch, once
	for n := 1; n <= 2; n++ {
		p.Signal(syscall.SIGHUP)
		p.LoggedTimes("configuration reloaded", n)
		e2e.Same(h, "refusals in the log", 1+n, len(p.Events(refused)))
	}
	code, _ := p.Get("/metrics")
	e2e.Same(h, "without a password", 401, code)

	h.Write("web.yaml", strings.Replace(webUsers, "reader", "other", 1), 0o600)
	p.Signal(syscall.SIGHUP)
	p.LoggedTimes("configuration reloaded", 3)
	e2e.Same(h, "refusals in the log", 3, len(p.Events(refused)))
	req, err := http.NewRequest(http.MethodGet, p.Web+"/metrics", nil)
	h.Must(err)
	req.SetBasicAuth("other", "open sesame")
	res, err := http.DefaultClient.Do(req)
	h.Must(err)
	res.Body.Close()
	e2e.Same(h, "with the new password, at once", 200, res.StatusCode)
	http.DefaultClient.CloseIdleConnections()
	p.Terminate()
}

func TestEveryLineOfALogIsJSON(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t).WithRace()
	plain := h.Read("syncd.yaml")
	useTLS(h)
	p := h.Daemon()
	code, _ := p.Get("/metrics")
	e2e.Same(h, "plain http to a TLS port", 400, code)
	h.Eventually("net/http reports the handshake", func() bool { return strings.Contains(p.Stderr.String(), "TLS handshake error") })
	h.Write("web.yaml", "hunter2: hunter2\n", 0o600)
	p.Logged("http.web_config not reloaded: the old one stays in force")
	h.Must(os.Remove(h.Path("web.pem")))
	conn, err := tls.Dial("tcp", strings.TrimPrefix(p.Web, "http://"), &tls.Config{InsecureSkipVerify: true})
	if err == nil {
		conn.Close()
		t.Error("a handshake without a certificate")
	}
	p.Terminate()
	logs := p.Stderr.String()

	logs += h.Expect(2, "run").Stderr
	h.Write("syncd.yaml", "retain: -1\njitter: soon\n"+string(plain), 0o644)
	logs += h.Expect(2, "run").Stderr
	h.Must(os.Remove(h.Path("syncd.yaml")))
	logs += h.Expect(2, "run").Stderr
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
	h := e2e.NewHost(t).WithRace()
	text := h.Read("syncd.yaml")
	h.Write("syncd.yaml", strings.Replace(string(text), "127.0.0.1:0}", "localhost:0, hosts: [mirror.example.net]}", 1), 0o644)
	p := h.Daemon()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: e2e.Patience}
	for host, want := range map[string]int{"mirror.example.net:9797": 200, "localhost": 200, "127.0.0.1": 200, "evil.example:9797": 421} {
		req, err := http.NewRequest(http.MethodGet, p.Web+"/api/v1/status", nil)
		h.Must(err)
		req.Host = host
		res, err := client.Do(req)
		h.Must(err)
		res.Body.Close()
		e2e.Same(h, "status for "+host, want, res.StatusCode)
	}
	p.Terminate()
	h.Write("syncd.yaml", strings.Replace(string(text), "127.0.0.1:0}", "127.0.0.1:0, hosts: ['https://mirror.example.net:1']}", 1), 0o644)
	h.Contains("stderr", h.Expect(2, "config", "check").Stderr, "http.hosts[0]: is not the name of a host; write the name alone")
}
