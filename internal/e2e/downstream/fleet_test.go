package downstream_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// follow makes a host that follows u, in a ring if that is not "".
func (u *upstream) follow(name, ring string) *e2e.Host {
	u.Helper()
	f := u.follower(u.addID(name, slices.DeleteFunc([]string{"--ring", ring}, func(string) bool { return ring == "" })...))
	f.Settings.Elapsed = "60s"
	f.Configure()
	return f
}

// fleetHost is a follower as `fleet --json` shows it.
type fleetHost struct {
	Name, Host, Ring, Release, State, Refused, Reason string
	LastSeen                                          time.Time `json:"last_seen"`
}

// fleet returns the followers by name, and the stopped releases.
func (u *upstream) fleet() (followers map[string]fleetHost, stopped []string) {
	u.Helper()
	var view struct {
		Followers []fleetHost
		Stopped   []struct {
			Manifest, Release, By, From string
			Hosts                       []string
		}
	}
	u.Must(json.Unmarshal([]byte(u.Expect(0, "fleet", "--json").Stdout), &view))
	followers = map[string]fleetHost{}
	for _, f := range view.Followers {
		followers[f.Name] = f
	}
	for _, s := range view.Stopped {
		stopped = append(stopped, fmt.Sprint(s.Manifest, " ", s.Release, " ", s.By, " ", s.From, " ", s.Hosts))
	}
	return followers, stopped
}

// together runs work for each host, four at once.
func together(hosts []*e2e.Host, work func(*e2e.Host)) {
	var running sync.WaitGroup
	slots := make(chan struct{}, 4)
	for _, h := range hosts {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			work(h)
		})
	}
	running.Wait()
}

// releaseOf is the release that a host serves, "" for none.
func releaseOf(h *e2e.Host) string {
	target, _ := os.Readlink(filepath.Join(h.Data, "current", "m"))
	release, _, _ := strings.Cut(filepath.Base(target), "-")
	return strings.TrimPrefix(release, ".")
}

// onDemand makes the host ask again, and waits until its sync is over.
func onDemand(p *e2e.Process) {
	p.Host.Helper()
	n := len(p.Events("sync"))
	p.Signal(syscall.SIGUSR1)
	p.LoggedTimes("sync", n+1)
}

// sizes sums the bytes of the files of a release.
func sizes(files []emulator.File) (total int64) {
	for _, f := range files {
		total += f.Content.Size()
	}
	return total
}

// monthOf is a release with files of some sizes; seed makes them differ.
func monthOf(seed uint64) (files []emulator.File) {
	for i, size := range []int64{900 << 10, 300 << 10, 60 << 10, 1000, 1} {
		files = append(files, emulator.File{Name: fmt.Sprintf("file%d.dat", i), Content: emulator.Random(10*seed+uint64(i), size)})
	}
	return files
}

// Twenty hosts follow one, which publishes a new release and is killed while they download.
func TestTwentyFollowersOutliveTheirUpstream(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, []string{"m"}, "bandwidth: 4MiB")
	october, november := monthOf(1), monthOf(2)
	u.Provider.SetManifest("m", "2026.10", october...)
	u.Write("ids", "", 0o600)
	up := u.SyncedDaemon()

	var followers []*e2e.Host
	for n := range 20 {
		f := u.follow(fmt.Sprintf("h%02d", n), "")
		f.ConfigureWith(`schedule: "@every 1s"`)
		followers = append(followers, f)
	}
	up.Signal(syscall.SIGHUP) // for the ids
	up.Logged("configuration reloaded")
	for _, f := range followers {
		f.Daemon()
	}
	at := func(release string) (hosts int) {
		for _, f := range followers {
			if releaseOf(f) == release {
				hosts++
			}
		}
		return hosts
	}
	u.Eventually("2026.10 on all hosts", func() bool { return at("2026.10") == 20 })

	u.Provider.SetManifest("m", "2026.11", november...)
	onDemand(up)
	u.Eventually("2026.11 on the first hosts", func() bool { return at("2026.11") > 1 })
	u.Must(up.Cmd.Process.Kill())
	up.Wait()
	if hosts := at("2026.11"); hosts == 20 {
		t.Error("the upstream was killed too late")
	}
	u.Expect(0, "verify")
	u.Daemon()
	u.Eventually("2026.11 on all hosts", func() bool { return at("2026.11") == 20 })

	want := u.Published("m")
	for _, f := range followers {
		f.Proven()
		e2e.Same(f, "files", want, f.Published("m"))
	}
	u.Eventually("all hosts in sync in the fleet", func() bool {
		hosts, _ := u.fleet()
		in := 0
		for _, f := range hosts {
			if f.State == "in_sync" && f.Release == "2026.11" {
				in++
			}
		}
		return in == 20
	})
	if sent, want := u.BytesSent(), sizes(october)+sizes(november); sent != want {
		t.Errorf("the provider sent %d bytes for %d", sent, want)
	}
	for _, r := range u.Provider.Requests() {
		if r.Header.Get("Syncd-State") != "" {
			t.Errorf("the provider was told %s", r.Header.Get("Syncd-State"))
		}
	}
}

// A follower that downloads for a long time gets its release whole, although the upstream
// keeps no earlier ones and has moved on twice.
func TestSlowFollowerKeepsItsRelease(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, []string{"m"}, "keep: 1h")
	u.Settings.More += "retain: 0\nretain_for: 0s\n"
	u.Configure()
	month := func(seed uint64, size int64) emulator.File {
		return emulator.File{Name: "file.dat", Content: emulator.Random(seed, size)}
	}
	u.Provider.SetManifest("m", "2026.10", month(1, 48<<20)) // more than the buffers of sockets take
	f := u.follow("slow", "")
	f.ConfigureWith("transfers: {bandwidth: 8MiB}")
	up := u.SyncedDaemon()

	slow := f.Start("sync", "--json")
	partial := func() int {
		names, _ := filepath.Glob(filepath.Join(f.Data, "partial", "*"))
		return len(names)
	}
	f.Eventually("a partial download", func() bool { return partial() > 0 })
	slow.Signal(syscall.SIGSTOP)
	for n, release := range []string{"2026.11", "2026.12"} {
		u.Provider.SetManifest("m", release, month(uint64(n)+2, 6<<20))
		onDemand(up)
		e2e.Same(u.Host, "served", release, releaseOf(u.Host))
	}
	e2e.Same(f, "before it goes on", "", releaseOf(f))
	slow.Signal(syscall.SIGCONT)
	e2e.Same(f, "exit code", 0, slow.Wait())
	e2e.Same(f, "release", "2026.10", releaseOf(f))
	f.Proven()
	f.Sync(0)
	e2e.Same(f, "the next release", "2026.12", releaseOf(f))
	f.Proven()
}

// Three of twenty hosts refuse a release by their gates: the later ring never sees it.
func TestRingStopsAfterThreeOfTwentyRefuse(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, []string{"m"}, `rings: [{name: canary}, {name: rest, stop_above: "5%"}]`)
	u.Month("m", "2026.10", "october")
	var canaries, rest []*e2e.Host
	for n := range 20 {
		f := u.follow(fmt.Sprintf("canary%02d", n), "canary")
		if n%7 == 0 {
			f.ConfigureWith(`gate: {command: [sh, -c, 'test "$SYNCD_RELEASE" != 2026.11']}`)
		}
		canaries = append(canaries, f)
	}
	for n := range 2 {
		rest = append(rest, u.follow(fmt.Sprintf("rest%d", n), "rest"))
	}
	up := u.SyncedDaemon()
	all := slices.Concat(canaries, rest)
	together(all, func(f *e2e.Host) { f.Sync(0) })
	hosts, _ := u.fleet()
	e2e.Same(u.Host, "hosts", 22, len(hosts))

	u.Month("m", "2026.11", "november")
	onDemand(up)
	for range 2 { // the second sync tells how the first one ended
		together(canaries, func(f *e2e.Host) { f.Syncd("sync") })
	}
	hosts, stopped := u.fleet()
	var refused []string
	for name, f := range hosts {
		if f.State == "refused" && f.Refused == "2026.11" && f.Reason == "gate" && f.Release == "2026.10" {
			refused = append(refused, name)
		}
	}
	slices.Sort(refused)
	e2e.Same(u.Host, "refused", []string{"canary00", "canary07", "canary14"}, refused)
	e2e.Same(u.Host, "state of another", "in_sync 2026.11", hosts["canary01"].State+" "+hosts["canary01"].Release)
	name, err := os.Hostname()
	u.Must(err)
	want := strings.ReplaceAll("m 2026.11 canary rest [canary00/NAME canary07/NAME canary14/NAME]", "NAME", name)
	e2e.Same(u.Host, "stopped", []string{want}, stopped)
	_, metrics := up.Get("/metrics")
	u.Contains("metrics", metrics, `syncd_fleet_hosts{release="2026.11",ring="canary",state="refused"} 3`,
		`syncd_fleet_hosts{release="2026.11",ring="canary",state="in_sync"} 17`, `syncd_fleet_stopped_releases{ring="rest"} 1`)
	_, page := up.Get("/")
	u.Contains("page", page, "2026.11 of m is stopped", "canary14")

	hidden := func(when string) {
		t.Helper()
		together(rest, func(f *e2e.Host) {
			f.Sync(0)
			e2e.Same(f, when, "2026.10", releaseOf(f))
			e2e.Same(f, when+": releases", "2026.10\n", f.Expect(0, "releases", "m").Stdout)
			if out := f.Syncd("files", "m", "2026.11"); out.Code != 1 {
				t.Errorf("%s: files m 2026.11 exits %d:\n%s", when, out.Code, out.Stdout)
			}
		})
	}
	hidden("stopped")
	u.Must(up.Cmd.Process.Kill())
	up.Wait()
	if _, stopped := u.fleet(); len(stopped) != 1 {
		t.Errorf("without a daemon: stopped %q", stopped)
	}
	up = u.SyncedDaemon()
	hidden("after kill -9 of the upstream")
	together(canaries, func(f *e2e.Host) { f.Syncd("sync") }) // a kill costs the polls of the last 10 s

	u.Contains("fleet release", u.Expect(0, "fleet", "release", "2026.11").Stdout, "goes on to ring rest")
	together(rest, func(f *e2e.Host) {
		f.Sync(0)
		e2e.Same(f, "let go", "2026.11", releaseOf(f))
	})
	u.Expect(1, "fleet", "release", "2026.09")
	u.Expect(2, "fleet", "release", "latest")
	up.Terminate()
	u.Contains("fleet", u.Expect(0, "fleet").Stdout, "canary07", "refused 2026.11 (gate)")
}

// Commands about followers need a host that serves them.
func TestFleetNeedsServe(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Contains("fleet", h.Expect(2, "fleet").Stderr, "serve.listen: is missing")
	h.Contains("fleet release", h.Expect(2, "fleet", "release", "2026.10").Stderr, "serve.listen: is missing")
}

// Scripts of earlier versions call `syncd serve release`.
func TestServeReleaseIsAHiddenNameOfFleetRelease(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	for _, row := range []struct {
		code int
		args []string
	}{
		{0, []string{"--help"}}, {2, []string{"2026.10"}}, {2, []string{"2026.10", "--json"}}, {2, []string{"latest"}}, {2, nil}, {2, []string{"2026.10", "2026.11"}},
	} {
		now := h.Expect(row.code, append([]string{"fleet", "release"}, row.args...)...)
		before := h.Expect(row.code, append([]string{"serve", "release"}, row.args...)...)
		e2e.Same(h, "serve release "+strings.Join(row.args, " "), strings.ReplaceAll(now.Stdout+now.Stderr, "fleet release", "serve release"), before.Stdout+before.Stderr)
	}
	help := h.Expect(0, "--help").Stdout
	completed := h.Expect(0, "__complete", "").Stdout
	for _, text := range []string{help, completed} {
		if h.Contains("list of commands", text, "fleet"); strings.Contains(text, "\nserve\t") || strings.Contains(text, "  serve ") {
			t.Errorf("serve is not hidden in\n%s", text)
		}
	}
	h.Contains("subcommands of fleet", h.Expect(0, "__complete", "fleet", "").Stdout, "release\t")
}
