package main

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

	"syncd/internal/emulator"
)

// follow makes a host that follows u, in a ring if that is not "".
func (u *upstream) follow(name, ring string) *host {
	u.Helper()
	f := u.follower(u.addID(name, slices.DeleteFunc([]string{"--ring", ring}, func(string) bool { return ring == "" })...))
	f.settings.elapsed = "60s"
	f.configure()
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
	u.must(json.Unmarshal([]byte(u.expect(0, "fleet", "--json").stdout), &view))
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
func together(hosts []*host, work func(*host)) {
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
func releaseOf(h *host) string {
	target, _ := os.Readlink(filepath.Join(h.data, "current", "m"))
	release, _, _ := strings.Cut(filepath.Base(target), "-")
	return strings.TrimPrefix(release, ".")
}

// onDemand makes the host ask again, and waits until its sync is over.
func (p *process) onDemand() {
	p.h.Helper()
	n := len(p.events("sync"))
	p.signal(syscall.SIGUSR1)
	p.loggedTimes("sync", n+1)
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
	u.provider.SetManifest("m", "2026.10", october...)
	u.write("ids", "", 0o600)
	up := u.daemon()
	up.logged("sync")

	var followers []*host
	for n := range 20 {
		f := u.follow(fmt.Sprintf("h%02d", n), "")
		f.settings.more = `schedule: "@every 1s"`
		f.configure()
		followers = append(followers, f)
	}
	up.signal(syscall.SIGHUP) // for the ids
	up.logged("configuration reloaded")
	for _, f := range followers {
		f.daemon()
	}
	at := func(release string) (hosts int) {
		for _, f := range followers {
			if releaseOf(f) == release {
				hosts++
			}
		}
		return hosts
	}
	u.eventually("2026.10 on all hosts", func() bool { return at("2026.10") == 20 })

	u.provider.SetManifest("m", "2026.11", november...)
	up.onDemand()
	u.eventually("2026.11 on the first hosts", func() bool { return at("2026.11") > 1 })
	u.must(up.cmd.Process.Kill())
	up.wait()
	if hosts := at("2026.11"); hosts == 20 {
		t.Error("the upstream was killed too late")
	}
	u.expect(0, "verify")
	u.daemon()
	u.eventually("2026.11 on all hosts", func() bool { return at("2026.11") == 20 })

	want := u.published("m")
	for _, f := range followers {
		f.proven()
		same(f, "files", want, f.published("m"))
	}
	u.eventually("all hosts in sync in the fleet", func() bool {
		hosts, _ := u.fleet()
		in := 0
		for _, f := range hosts {
			if f.State == "in_sync" && f.Release == "2026.11" {
				in++
			}
		}
		return in == 20
	})
	if sent, want := u.bytesSent(), sizes(october)+sizes(november); sent != want {
		t.Errorf("the provider sent %d bytes for %d", sent, want)
	}
	for _, r := range u.provider.Requests() {
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
	u.settings.more += "retain: 0\nretain_for: 0s\n"
	u.configure()
	month := func(seed uint64) emulator.File {
		return emulator.File{Name: "file.dat", Content: emulator.Random(seed, 48<<20)}
	}
	u.provider.SetManifest("m", "2026.10", month(1))
	f := u.follow("slow", "")
	f.settings.more = "transfers: {bandwidth: 8MiB}"
	f.configure()
	up := u.daemon()
	up.logged("sync")

	slow := f.start("sync", "--json")
	partial := func() int {
		names, _ := filepath.Glob(filepath.Join(f.data, "partial", "*"))
		return len(names)
	}
	f.eventually("a partial download", func() bool { return partial() > 0 })
	slow.signal(syscall.SIGSTOP)
	for n, release := range []string{"2026.11", "2026.12"} {
		u.provider.SetManifest("m", release, month(uint64(n)+2))
		up.onDemand()
		same(u.host, "served", release, releaseOf(u.host))
	}
	same(f, "before it goes on", "", releaseOf(f))
	slow.signal(syscall.SIGCONT)
	same(f, "exit code", 0, slow.wait())
	same(f, "release", "2026.10", releaseOf(f))
	f.proven()
	f.sync(0)
	same(f, "the next release", "2026.12", releaseOf(f))
	f.proven()
}

// Three of twenty hosts refuse a release by their gates: the later ring never sees it.
func TestRingStopsAfterThreeOfTwentyRefuse(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, []string{"m"}, `rings: [{name: canary}, {name: rest, stop_above: "5%"}]`)
	u.month("m", "2026.10", "october")
	var canaries, rest []*host
	for n := range 20 {
		f := u.follow(fmt.Sprintf("canary%02d", n), "canary")
		if n%7 == 0 {
			f.settings.more = `gate: {command: [sh, -c, 'test "$SYNCD_RELEASE" != 2026.11']}`
			f.configure()
		}
		canaries = append(canaries, f)
	}
	for n := range 2 {
		rest = append(rest, u.follow(fmt.Sprintf("rest%d", n), "rest"))
	}
	up := u.daemon()
	up.logged("sync")
	all := slices.Concat(canaries, rest)
	together(all, func(f *host) { f.sync(0) })
	hosts, _ := u.fleet()
	same(u.host, "hosts", 22, len(hosts))

	u.month("m", "2026.11", "november")
	up.onDemand()
	for range 2 { // the second sync tells how the first one ended
		together(canaries, func(f *host) { f.syncd("sync") })
	}
	hosts, stopped := u.fleet()
	var refused []string
	for name, f := range hosts {
		if f.State == "refused" && f.Refused == "2026.11" && f.Reason == "gate" && f.Release == "2026.10" {
			refused = append(refused, name)
		}
	}
	slices.Sort(refused)
	same(u.host, "refused", []string{"canary00", "canary07", "canary14"}, refused)
	same(u.host, "state of another", "in_sync 2026.11", hosts["canary01"].State+" "+hosts["canary01"].Release)
	name, err := os.Hostname()
	u.must(err)
	want := strings.ReplaceAll("m 2026.11 canary rest [canary00/NAME canary07/NAME canary14/NAME]", "NAME", name)
	same(u.host, "stopped", []string{want}, stopped)
	_, metrics := up.get("/metrics")
	u.contains("metrics", metrics, `syncd_fleet_hosts{release="2026.11",ring="canary",state="refused"} 3`,
		`syncd_fleet_hosts{release="2026.11",ring="canary",state="in_sync"} 17`, `syncd_fleet_stopped_releases{ring="rest"} 1`)
	_, page := up.get("/")
	u.contains("page", page, "2026.11 of m is stopped", "canary14")

	hidden := func(when string) {
		t.Helper()
		together(rest, func(f *host) {
			f.sync(0)
			same(f, when, "2026.10", releaseOf(f))
			same(f, when+": releases", "2026.10\n", f.expect(0, "releases", "m").stdout)
			if out := f.syncd("files", "m", "2026.11"); out.code != 1 {
				t.Errorf("%s: files m 2026.11 exits %d:\n%s", when, out.code, out.stdout)
			}
		})
	}
	hidden("stopped")
	u.must(up.cmd.Process.Kill())
	up.wait()
	if _, stopped := u.fleet(); len(stopped) != 1 {
		t.Errorf("without a daemon: stopped %q", stopped)
	}
	up = u.daemon()
	up.logged("sync")
	hidden("after kill -9 of the upstream")

	u.contains("fleet release", u.expect(0, "fleet", "release", "2026.11").stdout, "goes on to ring rest")
	together(rest, func(f *host) {
		f.sync(0)
		same(f, "let go", "2026.11", releaseOf(f))
	})
	u.expect(1, "fleet", "release", "2026.09")
	u.expect(2, "fleet", "release", "latest")
	up.terminate()
	u.contains("fleet", u.expect(0, "fleet").stdout, "canary07", "refused 2026.11 (gate)")
}

// Commands about followers need a host that serves them.
func TestFleetNeedsServe(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.contains("fleet", h.expect(2, "fleet").stderr, "serve.listen: is missing")
	h.contains("fleet release", h.expect(2, "fleet", "release", "2026.10").stderr, "serve.listen: is missing")
}

// Scripts of earlier versions call `syncd serve release`.
func TestServeReleaseIsAHiddenNameOfFleetRelease(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, row := range []struct {
		code int
		args []string
	}{
		{0, []string{"--help"}}, {2, []string{"2026.10"}}, {2, []string{"2026.10", "--json"}}, {2, []string{"latest"}}, {2, nil}, {2, []string{"2026.10", "2026.11"}},
	} {
		now := h.expect(row.code, append([]string{"fleet", "release"}, row.args...)...)
		before := h.expect(row.code, append([]string{"serve", "release"}, row.args...)...)
		same(h, "serve release "+strings.Join(row.args, " "), strings.ReplaceAll(now.stdout+now.stderr, "fleet release", "serve release"), before.stdout+before.stderr)
	}
	help := h.expect(0, "--help").stdout
	completed := h.expect(0, "__complete", "").stdout
	for _, text := range []string{help, completed} {
		if h.contains("list of commands", text, "fleet"); strings.Contains(text, "\nserve\t") || strings.Contains(text, "  serve ") {
			t.Errorf("serve is not hidden in\n%s", text)
		}
	}
	h.contains("subcommands of fleet", h.expect(0, "__complete", "fleet", "").stdout, "release\t")
}
