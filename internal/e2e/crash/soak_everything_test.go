package crash_test

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/e2e"
)

// busy is a soak of a host with everything switched on, and of the hosts that take their
// data from it: some directly, in two rings, and one from the bucket.
type busy struct {
	*soak
	receiver *e2e.Receiver
	daemons  []*e2e.Process // that of the host first, that of the bucket's follower last
}

// busySettings keep little, so that the state is full after the first part of the soak.
func busySettings() string {
	return fmt.Sprintf("schedule: \"@every 1h\"\nretain: 2\nretain_for: 2s\naudit: {keep: %dms}\nscrub: {schedule: \"@every 2s\", rate: 0}\n", e2e.Times(1, 30_000))
}

// TestSoakWithEverythingSwitchedOn publishes a release a second, and expects no host to
// grow. The figures of a build without the race detector mean something to an operator.
func TestSoakWithEverythingSwitchedOn(t *testing.T) {
	t.Parallel()
	b := newBusy(t)
	endScrapes := b.startScrapes()
	defer endScrapes()
	parts, releases, pace := e2e.Times(3, 10), e2e.Times(2, 120), time.Duration(e2e.Times(100, 1000))*time.Millisecond
	measured := []struct {
		name string
		p    *e2e.Process
		samples
	}{{"the host", b.daemons[0], nil}, {"a follower", b.daemons[1], nil}, {"the follower of the bucket", b.daemons[len(b.daemons)-1], nil}}
	began, measuring := time.Now(), time.Duration(0)
	for part := range parts {
		for tick, n := time.NewTicker(pace), 0; n < releases; n++ {
			b.step()
			<-tick.C
		}
		b.settle()
		settled := time.Now()
		for i := range measured {
			m := &measured[i]
			m.samples = append(m.samples, sampleOf(m.p))
			b.Logf("part %d of %d, %s: %v", part+1, parts, m.name, m.samples[part])
		}
		measuring += time.Since(settled)
	}
	lasted := (time.Since(began) - measuring).Round(time.Second)
	endScrapes()
	for _, p := range b.daemons {
		p.Terminate()
		p.Host.Expect(0, "verify")
		p.Host.Proven()
	}
	for _, m := range measured {
		m.report(t, "everything switched on, "+m.name)
	}
	e2e.Reliability(t, "everything switched on", fmt.Sprintf("releases in %s, to %d hosts", lasted, len(b.daemons)), int(b.number.Load())-1)
}

func newBusy(t *testing.T) *busy {
	t.Helper()
	h := e2e.NewHost(t, soakManifests...)
	b := &busy{soak: &soak{Host: h, random: e2e.NewRandom(t), done: map[string]int{}}, receiver: e2e.NewReceiver(h)}
	b.receiver.Up()
	store, address := buckettest.New(t), e2e.FreeAddress(h)
	h.Environ = append(h.Environ, "AWS_ACCESS_KEY_ID="+buckettest.AccessKey, "AWS_SECRET_ACCESS_KEY="+buckettest.SecretKey)
	h.Settings.More = busySettings() + e2e.HookText(b.receiver, "activated") + fmt.Sprintf(`  - {name: reload, on: [activated], command: [/bin/sh, -c, "cat >/dev/null"]}
gate: {command: [/bin/sh, -c, 'test -d "$SYNCD_PATH"'], timeout: 1m}
views:
  - {name: refdata, hash_files: true, export: %s}
  - {name: flat, layout: flat, manifests: [m]}
serve:
  listen: %s
  public_url: http://%s
  ids_file: ids
  keep: 2s
  rings: [{name: canary}, {name: rest, stop_above: "50%%"}]
publish: {s3: {endpoint: %q, bucket: %s, prefix: mirror/, region: %s}}
`, h.Path("srv", "refdata"), address, address, store.Endpoint, buckettest.Bucket, buckettest.Region)
	h.Configure()
	var ids []string
	for n := range e2e.Times(2, 5) {
		ring := []string{"canary", "rest"}[n%2]
		ids = append(ids, h.Expect(0, "serve-id", "add", fmt.Sprint("host", n), "--ring", ring).Stdout)
	}
	b.publish()
	b.start(h)
	b.p = b.daemons[0]
	b.awaitRelease()
	for _, id := range ids {
		f := e2e.NewHostOf(t, h.Provider, soakManifests...)
		f.Settings.URL, f.Settings.More = "http://"+address, busySettings()
		f.Write("id", id, 0o600)
		f.Configure()
		b.start(f)
	}
	f := &e2e.FollowerHost{Host: e2e.NewHostOf(t, h.Provider, soakManifests...), Store: store, Front: buckettest.NewFront(t, store)}
	f.Settings.More = busySettings()
	b.start(f.Follow().Host)
	return b
}

func (b *busy) start(h *e2e.Host) { b.daemons = append(b.daemons, h.Daemon()) }

// step publishes a release, waits until the host serves it, and makes all others ask.
func (b *busy) step() {
	b.Helper()
	b.publish()
	b.ask()
	b.awaitRelease()
	for _, p := range b.daemons[1:] {
		p.Signal(syscall.SIGUSR1)
	}
}

// settle waits until every host serves the newest release and the hooks know it.
func (b *busy) settle() {
	b.Helper()
	b.Eventually("the newest release on all hosts", func() bool {
		for _, p := range b.daemons[1:] {
			if !serves(p.Host, b.release()) {
				p.Signal(syscall.SIGUSR1)
				time.Sleep(100 * time.Millisecond) // a sync that runs is not asked again
				return false
			}
		}
		return b.receiver.Has("m", b.release())
	})
	b.Contains("fleet", b.Expect(0, "fleet").Stdout, "host0", "host1")
}

// startScrapes asks every daemon for its metrics and its page once a second.
func (b *busy) startScrapes() (end func()) {
	stop := make(chan struct{})
	var group sync.WaitGroup
	client := &http.Client{Timeout: e2e.Patience, Transport: &http.Transport{}}
	group.Go(func() {
		defer client.CloseIdleConnections()
		for wait(stop, time.Second) {
			for _, p := range b.daemons {
				for _, path := range []string{"/metrics", "/", "/api/v1/status"} {
					res, err := client.Get(p.Web + path)
					if err != nil || res.StatusCode != http.StatusOK {
						b.Errorf("a scrape of %s: %v %v", path, res, err)
						return
					}
					_, _ = io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
			}
		}
	})
	return sync.OnceFunc(func() {
		close(stop)
		group.Wait()
	})
}
