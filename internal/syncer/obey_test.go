package syncer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/emulator"
	"syncd/internal/golive"
	"syncd/internal/golive/rollback"
	"syncd/internal/manifest"
	"syncd/internal/manifest/destruction"
	"syncd/internal/manifest/expiry"
	"syncd/internal/mirror/destroy"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

func (u *upstream) says(order string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.destroy = order
}

// everything is an order of an upstream that says that it destroyed all there is.
func everything(releases ...manifest.Release) string {
	var o destruction.Order
	for _, r := range releases {
		o.Gone = append(o.Gone, destruction.Gone{Release: r})
	}
	o.Seconds = 1
	return o.Header(func(destruction.Gone) bool { return false })
}

// destroyed names what was destroyed here and why.
func (w *world) destroyed() (list []string) {
	w.Helper()
	done, err := w.syncer.Tree().Destroyed.Destructions("")
	must(w, err)
	for _, d := range done {
		list = append(list, fmt.Sprintf("%s %s %s", d.Manifest, d.Release, d.Cause))
	}
	slices.Sort(list)
	return list
}

func (w *world) onDisk(name string) (releases []string) {
	for _, id := range w.cfg.Mirror.Records.RevisionIDs(name) {
		release, _, _ := strings.Cut(id, "-")
		releases = append(releases, release)
	}
	return releases
}

// following is a world that follows an upstream and has two releases of data and of more.
func following(t *testing.T) (*world, *upstream) {
	w := start(t, "data", "more")
	w.cfg.Retain = 9
	u := w.behindUpstream()
	for _, release := range []string{"2026.09", "2026.10"} {
		w.publish("data", release, files{"a": "data of " + release, "same": "shared"})
		w.publish("more", release, files{"m": "more of " + release, "same": "shared"})
		w.poll()
	}
	u.take()
	return w, u
}

func TestWhatTheUpstreamDestroyedGoesInTheSamePollAndIsConfirmed(t *testing.T) {
	w, u := following(t)
	u.says("destroyed=2026.09")
	w.poll()
	told := u.take()
	equal(t, "on disk", w.onDisk("data"), []string{"2026.10"})
	w.gone("data of 2026.09")
	w.serves("data", files{"a": "data of 2026.10", "same": "shared"})
	confirmed := slices.ContainsFunc(told, func(text string) bool {
		return strings.Contains(text, "ManifestReleases ") && strings.Contains(text, "; held=1; holds=2026.10-")
	})
	if !confirmed {
		t.Errorf("not confirmed in the same poll: %q", told)
	}
	equal(t, "records", w.destroyed(), []string{"data 2026.09 publisher", "more 2026.09 publisher"})
	w.poll()
	if told := u.take(); len(told) != 2 {
		t.Errorf("a poll with nothing to destroy makes more than a request for each manifest: %q", told)
	}
}

// An upstream may be hostile: whatever it says, what is served here stays, and what is not from
// it does.
func TestAHostileOrderReachesOnlyWhatTheUpstreamGave(t *testing.T) {
	all := everything("2026.07", "2026.08", "2026.09", "2026.10", "2026.11")
	t.Run("what is served", func(t *testing.T) {
		w, u := following(t)
		u.says(all)
		for range 3 {
			w.poll()
		}
		w.serves("data", files{"a": "data of 2026.10", "same": "shared"})
		w.serves("more", files{"m": "more of 2026.10", "same": "shared"})
		u.says("destroyed=2026.10")
		w.publish("data", "2026.11", files{"a": "data of 2026.11", "same": "shared"})
		w.poll() // it goes once it has left
		equal(t, "on disk", w.onDisk("data"), []string{"2026.11"})
		w.serves("data", files{"a": "data of 2026.11", "same": "shared"})
	})
	t.Run("another upstream's", func(t *testing.T) {
		w, _ := following(t)
		other := w.behindUpstream() // another address
		other.says(all)
		w.publish("data", "2026.11", files{"a": "data of 2026.11", "same": "shared"})
		for range 3 {
			w.poll()
		}
		equal(t, "on disk", w.onDisk("data"), []string{"2026.09", "2026.10", "2026.11"})
		equal(t, "destroyed", w.destroyed(), []string(nil))
		// Going back to data of the first upstream does not make it the other one's.
		_, err := rollback.Do(t.Context(), w.syncer.Tree(), request.Rollback{Manifests: []string{"data"}})
		must(t, err)
		w.publish("data", "2026.12", files{"a": "data of 2026.12", "same": "shared"})
		w.expect(w.force(), "data", report.Updated)
		equal(t, "on disk, only what the other one gave is gone", w.onDisk("data"), []string{"2026.09", "2026.10", "2026.12"})
	})
	t.Run("the same bytes of another upstream", func(t *testing.T) {
		w, _ := following(t)
		other := w.behindUpstream()
		w.provider.SetManifest("data", "2026.09")
		w.publish("data", "2026.09", files{"a": "data of 2026.09", "same": "shared"})
		w.target("data", func(target *golive.Target) { target.Release = "2026.09" })
		w.demand() // it offers what is here already
		w.target("data", func(target *golive.Target) { target.Release = manifest.Latest })
		w.force()
		other.says(all)
		w.poll()
		equal(t, "on disk", w.onDisk("data"), []string{"2026.09", "2026.10"})
	})
	t.Run("what came from a folder", func(t *testing.T) {
		w := start(t, "data")
		w.cfg.Retain = 9
		u := w.behindUpstream()
		folder := t.TempDir()
		must(t, os.WriteFile(filepath.Join(folder, "a"), []byte("mine"), 0o600))
		w.publish("data", "2026.09", files{"a": "mine", "b": "theirs"})
		_, err := w.syncer.Adopt(t.Context(), request.Adopt{Folder: folder})
		must(t, err)
		w.restart()
		w.poll()
		w.publish("data", "2026.10", files{"a": "mine 2", "b": "theirs"})
		w.poll()
		u.says(all)
		w.poll()
		equal(t, "on disk", w.onDisk("data"), []string{"2026.09", "2026.10"})
		w.publish("data", "2026.11", files{"a": "3", "b": "theirs"})
		w.poll()
		equal(t, "what the upstream gave since is gone", w.onDisk("data"), []string{"2026.09", "2026.11"})
	})
	t.Run("a flood for others", func(t *testing.T) {
		w, u := following(t)
		u.says("destroyed=" + strings.Repeat("2026.01-0123456789ab+", destruction.MaxGone-1) + "2026.01")
		w.poll()
		equal(t, "destroyed", w.destroyed(), []string(nil))
		u.says("destroyed=" + strings.Repeat("2026.09+", 1000) + "2026.09")
		w.poll()
		equal(t, "destroyed by an order that is too long", w.destroyed(), []string(nil))
	})
}

func TestAFollowerOfABucketObeysItsPublisher(t *testing.T) {
	w := follow(t, "data", "more")
	w.cfg.Retain = 9
	w.configure()
	both := func(release manifest.Release) []buckettest.Release {
		return []buckettest.Release{
			{Manifest: "data", Release: release, Files: files{"a": "data of " + string(release)}}, {Manifest: "more", Release: release, Files: files{"m": "more of " + string(release)}},
		}
	}
	w.put(1, both("2026.09")...)
	w.poll()
	w.put(2, both("2026.10")...)
	w.poll()
	w.store.Destruction = map[string]destruction.Order{"data": {Gone: []destruction.Gone{{Release: "2026.09"}, {Release: "2026.10"}}}}
	w.put(3, both("2026.10")...)
	w.poll()
	equal(t, "data on disk", w.onDisk("data"), []string{"2026.10"})
	equal(t, "more on disk", w.onDisk("more"), []string{"2026.09", "2026.10"})
	w.gone("data of 2026.09")
	equal(t, "destroyed", w.destroyed(), []string{"data 2026.09 publisher"})
}

// The publisher's destroy_after counts from when this host served a revision last, and
// reaches as little as its list of destroyed releases.
func TestAHostileTimeReachesOnlyWhatTheUpstreamGave(t *testing.T) {
	w, _ := following(t)
	folder := t.TempDir()
	must(t, os.WriteFile(filepath.Join(folder, "a"), []byte("mine"), 0o600))
	w.publish("data", "2026.11", files{"a": "mine", "same": "shared"})
	_, err := w.syncer.Adopt(t.Context(), request.Adopt{Folder: folder})
	must(t, err)
	w.poll()
	other := w.behindUpstream()
	for _, release := range []string{"2026.12", "2027.01"} {
		w.publish("data", release, files{"a": "data of " + release, "same": "shared"})
		w.poll()
	}
	later := time.Now().Add(time.Hour)
	w.present = &expiry.Present{Clock: later, Header: later, SeenAt: later}
	for _, seconds := range []string{"0", "-1", "99999999999", "9223372036854775807", "1s"} {
		other.says("after=" + seconds)
		w.poll()
		must(t, w.destroyer().DestroyDue(t.Context()))
		equal(t, seconds, w.destroyed(), []string(nil))
	}
	other.says("after=1")
	w.poll()
	time.Sleep(1100 * time.Millisecond) // the shortest time of all
	must(t, w.destroyer().DestroyDue(t.Context()))
	equal(t, "only what the other upstream gave", w.onDisk("data"), []string{"2026.09", "2026.10", "2026.11", "2027.01"})
	equal(t, "destroyed", w.destroyed(), []string{"data 2026.12 publisher"})
	w.serves("data", files{"a": "data of 2027.01", "same": "shared"})
}

// A release that this host never had whole goes, too.
func TestFragmentsOfWhatTheUpstreamDestroyedGo(t *testing.T) {
	w, u := following(t)
	w.publish("data", "2026.11", files{"a": strings.Repeat("large ", 1<<20), "b": "fragment"})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindTruncate, Host: emulator.HostDownload, Path: "*/a", After: 3 << 20, Times: 1})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Host: emulator.HostDownload, Path: "*/a"})
	w.expect(w.poll(), "data", report.Failed)
	if len(w.partials()) == 0 {
		t.Fatal("there are no fragments")
	}
	w.provider.ClearFaults()
	w.provider.RemoveRelease("data", "2026.11")
	u.says("destroyed=2026.11")
	w.poll()
	w.gone("fragment")
	equal(t, "unfinished downloads", w.partials(), []string{})
	w.serves("data", files{"a": "data of 2026.10", "same": "shared"})
}

// Followers are told the release where nothing of it is left, else the revision.
func TestWhatIsGoneIsToldByRevisionOrRelease(t *testing.T) {
	w := start(t, "data")
	w.cfg.Retain = 9
	w.configure()
	for _, content := range []string{"1", "2", "3"} {
		w.publish("data", "2026.09", files{"a": content})
		w.demand()
	}
	w.publish("data", "2026.10", files{"a": "4"})
	w.poll()
	var ids []string
	gone := func() (list []string) {
		done, err := w.syncer.Tree().Destroyed.Destructions("data")
		must(t, err)
		for _, g := range destroy.GoneOf(done, w.cfg.Mirror.Records.RevisionIDs("data")) {
			list = append(list, g.ID())
		}
		slices.Sort(list)
		return list
	}
	for _, id := range w.cfg.Mirror.Records.RevisionIDs("data") {
		if strings.HasPrefix(id, "2026.09") {
			ids = append(ids, id)
		}
	}
	for _, id := range ids[:2] {
		w.destroyNow("data", id)
	}
	equal(t, "one revision is left", gone(), ids[:2])
	w.destroyNow("data", ids[2])
	equal(t, "nothing is left", gone(), []string{"2026.09"})
}
