package downstream_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/e2e"
	"syncd/internal/emulator"
	"syncd/internal/report"
)

// lose deletes the object of a content from the bucket, as a lifecycle rule does.
func (p *publisherHost) lose(content string) {
	p.Helper()
	p.Must(os.Remove(p.store.Path("mirror/" + bucket.ObjectName(sha256.Sum256([]byte(content))))))
}

// upload runs publish and returns what it prints as JSON.
func (p *publisherHost) upload(code int, args ...string) (done report.Upload) {
	p.Helper()
	p.Must(json.Unmarshal([]byte(p.Expect(code, append([]string{"publish", "--json"}, args...)...).Stdout), &done))
	return done
}

func TestALifecycleRuleIsNoticedAndMended(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m", "n")
	p.Month("m", "2026.09", "september")
	p.Month("n", "2026.09", "another")
	p.Sync(0)
	p.Contains("verified", p.Expect(0, "publish", "--verify").Stdout, "1 generations, 2 records and 2 objects", "nothing is missing or damaged")
	p.Contains("status", p.Expect(0, "status").Stdout, "shows what is served", "; verified at ")

	p.lose("september")
	p.store.Put("mirror/"+bucket.ObjectName(sha256.Sum256([]byte("another"))), []byte("ANOTHER"))
	f := p.follower()
	f.Sync(1)
	found := p.Expect(1, "publish", "--verify")
	p.Contains("found", found.Stdout, "DAMAGED m/m.dat (objects/", "DAMAGED n/n.dat (objects/", ": it is missing", "1 missing, 1 damaged, 0 repaired", "publish --verify --repair")
	status := publishStatusOf(p.Host)
	e2e.Same(p.Host, "state", "damaged", status.State)
	p.Contains("status", status.Explanation, "is not whole", "2 objects and records are missing or damaged", "m/m.dat", "`syncd publish --verify --repair`")
	p.Contains("doctor", p.Syncd("doctor").Stdout, "run `syncd publish --verify --repair`")

	repaired := p.upload(0, "--verify", "--repair")
	e2e.Same(p.Host, "result", report.UploadVerified, repaired.Result)
	e2e.Same(p.Host, "counts", []int{1, 1, 2}, []int{repaired.Verification.Missing, repaired.Verification.Damaged, repaired.Verification.Repaired})
	e2e.Same(p.Host, "state", "in_sync", publishStatusOf(p.Host).State)
	f.Sync(0)
	e2e.Same(f.Host, "content", "september", f.ServedContent("m"))
	e2e.Same(f.Host, "content", "another", f.ServedContent("n"))

	// A loss that nobody noticed is mended before a new generation names it.
	p.lose("another")
	p.Month("m", "2026.10", "october")
	e2e.Same(p.Host, "uploaded", 2, p.publication(0).Objects)
	p.follower().Sync(0)
	for _, args := range [][]string{{"--repair"}, {"--read"}, {"--verify", "--gc"}, {"--verify", "--force"}} {
		p.Expect(2, append([]string{"publish"}, args...)...)
	}
}

func TestAKilledRepairGoesOn(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	contents := []string{"one", "two", "three", "four"}
	var files []emulator.File
	for _, content := range contents {
		files = append(files, emulator.File{Name: content, Content: emulator.Text(content)})
	}
	p.Provider.SetManifest("m", "2026.10", files...)
	p.Sync(0)
	for _, content := range contents {
		p.lose(content)
	}
	second, end := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var writes int
	p.front.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || !strings.HasPrefix(buckettest.Name(r), "mirror/"+bucket.Objects) {
			return false
		}
		mu.Lock()
		writes++
		n := writes
		mu.Unlock()
		if n == 1 {
			return false
		}
		if n == 2 {
			close(second)
		}
		<-end
		panic(http.ErrAbortHandler)
	})
	repair := p.Start("publish", "--verify", "--repair")
	within(p.Host, "the second object", second)
	p.Eventually("the first object", func() bool {
		return p.stored("mirror/"+bucket.Objects) > 0
	})
	repair.Signal(syscall.SIGKILL)
	repair.Wait()
	close(end)
	p.front.Answer(nil)
	rest := p.upload(0, "--verify", "--repair")
	e2e.Same(p.Host, "repaired after the kill", 3, rest.Verification.Repaired)
	p.follower().Sync(0)
}

// stored counts the files below a folder of the bucket.
func (p *publisherHost) stored(folder string) (count int) {
	p.Must(filepath.WalkDir(p.store.Path(folder), func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			count++
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}))
	return count
}

// The daemon verifies at the times of the scrub, and mends what it can.
func TestTheDaemonVerifiesTheBucket(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	p.Month("m", "2026.10", "october")
	p.publishWith("scrub: {schedule: \"@every 1s\"}")
	p.Sync(0)
	p.lose("october")
	daemon := p.Daemon()
	p.Eventually("the object is there again", func() bool {
		_, err := os.Stat(p.store.Path("mirror/" + bucket.ObjectName(sha256.Sum256([]byte("october")))))
		return err == nil
	})
	p.Eventually("the status says so", func() bool { return publishStatusOf(p.Host).Verification != nil })
	if milliseconds(daemon, "syncd_publish_verified_timestamp_seconds") == 0 || milliseconds(daemon, "syncd_publish_damaged_objects") != 0 {
		t.Error("the series do not show the verification")
	}
	daemon.Terminate()
}

// Two hosts publish to one place. The operator of one takes it back from the other, which is
// ahead; the followers go along.
func TestAnOperatorTakesThePlaceBack(t *testing.T) {
	t.Parallel()
	a := newPublisher(t, "m")
	a.Month("m", "2026.09", "september")
	a.Sync(0)
	f := a.follower()
	f.Sync(0)

	b := publisherOf(e2e.NewHostOf(t, a.Provider, "m"), a.store)
	b.Month("m", "2026.10", "october")
	b.Sync(0)
	f.Sync(0)
	e2e.Same(f.Host, "content", "october", f.ServedContent("m"))
	author := b.inBucket().Publisher
	a.Contains("publish", a.Expect(0, "publish").Stdout, "nothing was published", author, "kept what another publisher has newer: m", "publish --force")
	status := publishStatusOf(a.Host)
	e2e.Same(a.Host, "status", []any{"superseded", author, true, []string{"m"}}, []any{status.State, status.Publisher, status.GenerationAt != nil, status.Kept})
	a.Contains("status", status.Explanation, "generation 2 in", "is "+author+"'s since", "syncd publish --force")
	if strings.Contains(a.Expect(0, "status").Stdout, "shows what is served") {
		t.Error("the status says that the bucket shows what is served")
	}
	a.Contains("doctor", a.Syncd("doctor").Stdout, "is "+author+"'s since")

	forced := a.upload(0, "--force")
	e2e.Same(a.Host, "forced", []any{report.Uploaded, 3, int64(1)}, []any{forced.Result, forced.Generation, forced.Epoch})
	e2e.Same(a.Host, "status", "in_sync", publishStatusOf(a.Host).State)
	f.Sync(0)
	e2e.Same(f.Host, "content", "september", f.ServedContent("m"))

	// The other one yields, also with news, and a replayed generation is refused.
	old := b.inBucket()
	b.Month("m", "2026.11", "november")
	e2e.Same(b.Host, "result", report.UploadUnchanged, b.publication(0).Result)
	b.Contains("status", publishStatusOf(b.Host).Explanation, "its operator took the place with `syncd publish --force`")
	e2e.Same(b.Host, "in the bucket", old, b.inBucket())
	text, err := os.ReadFile(a.store.Path("mirror/" + bucket.GenerationName(2)))
	a.Must(err)
	a.store.Put("mirror/"+bucket.CurrentName, bucket.Current{Generation: 2, SHA256: sha256.Sum256(text), Publisher: author}.Text())
	f.Sync(1)
	e2e.Same(f.Host, "content", "september", f.ServedContent("m"))
	a.store.Put("mirror/"+bucket.CurrentName, old.Text())

	b.upload(0, "--force")
	f.Sync(0)
	e2e.Same(f.Host, "content", "november", f.ServedContent("m"))
}
