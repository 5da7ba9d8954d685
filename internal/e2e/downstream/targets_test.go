package downstream_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/e2e"
	"syncd/internal/report"
)

// A publisher writes to two places. One is down for three releases and holds up nothing at the
// other one; when it is back, it catches up, and `--target` reaches one alone.
func TestOneOfTwoPlacesIsDown(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	far := buckettest.NewFront(t, p.store)
	place := func(name string, front *buckettest.Front, prefix string) string {
		return fmt.Sprintf("{name: %s, endpoint: %q, bucket: %s, prefix: %s, region: %s}", name, front.Endpoint, buckettest.Bucket, prefix, buckettest.Region)
	}
	p.ConfigureWith("publish: {s3: [" + place("near", p.front, "mirror/") + ", " + place("far", far, "far/") + "]}\n")
	shown := func(prefix string) (c bucket.Current) {
		text, err := os.ReadFile(p.store.Path(prefix + bucket.CurrentName))
		p.Must(err)
		c, err = bucket.ParseCurrent(text)
		p.Must(err)
		return c
	}
	status := func() (s report.UploadStatus) {
		var all struct{ Publish report.UploadStatus }
		p.Must(json.Unmarshal([]byte(p.Expect(0, "status", "--json").Stdout), &all))
		return all.Publish
	}
	p.Month("m", "2026.07", "july")
	p.Sync(0)
	far.Answer(buckettest.SlowDown)
	var since string
	for _, release := range []string{"2026.08", "2026.09", "2026.10"} {
		p.Month("m", release, release)
		result := p.Syncd("sync")
		e2e.Same(p.Host, "exit code while a place is down", 1, result.Code)
		p.Contains("stderr", result.Stderr, "far: ")
		s := status()
		e2e.Same(p.Host, "states", []any{2, report.StateFailed, "near", report.StateInSync, "far", report.StateFailed},
			[]any{len(s.Targets), s.State, s.Targets[0].Target, s.Targets[0].State, s.Targets[1].Target, s.Targets[1].State})
		if now := s.Targets[1].FailingSince.String(); since == "" {
			since = now
		} else {
			e2e.Same(p.Host, "failing since", since, now)
		}
	}
	e2e.Same(p.Host, "generations", []int{4, 1}, []int{shown("mirror/").Generation, shown("far/").Generation})
	p.Contains("explain", p.Expect(0, "explain").Stdout, "near: generation 4", "far: publishing to")

	far.Answer(nil)
	p.front.Answer(buckettest.SlowDown)
	p.Expect(0, "publish", "--target", "far")
	e2e.Same(p.Host, "generation of far", 2, shown("far/").Generation)
	var done report.Upload
	p.Must(json.Unmarshal([]byte(p.Expect(1, "publish", "--verify", "--json").Stdout), &done))
	if len(done.Targets) != 2 || !strings.Contains(done.Error, "near: ") || done.Targets[1].Verification == nil {
		t.Errorf("%+v", done)
	}
	p.front.Answer(nil)
	p.Expect(0, "publish", "--gc")
	s := status()
	e2e.Same(p.Host, "states at the end", []any{report.StateInSync, report.StateInSync}, []any{s.Targets[0].State, s.Targets[1].State})
	p.Contains("an unknown name", p.Expect(2, "publish", "--target", "nowhere").Stderr, "nowhere")

	f := p.follower()
	f.Sync(0)
	f.Settings.Bucket = strings.Replace(f.Settings.Bucket, "mirror/", "far/", 1)
	f.Configure()
	f.Sync(0)
	e2e.Same(f.Host, "what a follower of far serves", "2026.10", f.Status().Manifests[0].Release)
}
