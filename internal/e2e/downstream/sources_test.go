package downstream_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/e2e"
	"syncd/internal/report"
)

// A follower has two sources of one publisher. The first is cut in the middle of a file, and the
// second finishes it; the first is used again when it works; and where the second is older, it
// brings nothing back.
func TestTheSecondSourceGoesOn(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	farStore := buckettest.NewFront(t, p.store)
	place := func(front *buckettest.Front, prefix string) string {
		return fmt.Sprintf("endpoint: %q, bucket: %s, prefix: %s, region: %s", front.Endpoint, buckettest.Bucket, prefix, buckettest.Region)
	}
	p.ConfigureWith("publish: {s3: [{name: near, " + place(p.front, "mirror/") + "}, {name: far, " + place(farStore, "far/") + "}]}\n")
	f := p.follower()
	near, far := f.Front, buckettest.NewFront(t, p.store)
	text, err := os.ReadFile(f.Path("syncd.yaml"))
	f.Must(err)
	_, rest, _ := strings.Cut(string(text), "data_dir:")
	const patience = "retry: {initial_interval: 10ms, max_interval: 100ms, max_elapsed: 500ms}"
	f.Write("syncd.yaml", fmt.Sprintf("source:\n  - {name: near, s3: {%s}, %s}\n  - {name: far, s3: {%s}, %s}\ndata_dir:%s",
		place(near, "mirror/"), patience, place(far, "far/"), patience, rest), 0o644)
	f.Expect(0, "config", "check")
	uses := func(what, name string, failing bool) {
		t.Helper()
		var s report.Status
		f.Must(json.Unmarshal([]byte(f.Expect(0, "status", "--json").Stdout), &s))
		for _, source := range s.Sources {
			if source.InUse != (source.Name == name) || source.Name == "near" && (source.FailingSince != nil) != failing {
				t.Errorf("%s: %+v", what, s.Sources)
			}
		}
		if len(s.Sources) != 2 {
			t.Errorf("%s: %+v", what, s.Sources)
		}
	}
	release := func() string { return f.Status().Manifests[0].Release }

	p.Month("m", "2026.08", "august")
	p.Sync(0)
	f.Sync(0)
	uses("at first", "near", false)
	began := func(prefix string) int64 {
		text, err := os.ReadFile(p.store.Path(prefix + "generations/1.json"))
		f.Must(err)
		g, err := bucket.ParseGeneration(1, text)
		f.Must(err)
		return g.Began
	}
	if began("mirror/") == began("far/") {
		t.Error("both places began at the same second, so that signed numbers of both would be compared")
	}

	content := strings.Repeat("september", 300_000)
	half := len(content) / 2
	p.Month("m", "2026.09", content)
	p.Sync(0)
	near.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(buckettest.Name(r), "mirror/"+bucket.Objects) {
			return false
		}
		if r.Header.Get("Range") == "" {
			w.Header().Set("ETag", `"of another server"`)
			w.Header().Set("Content-Length", strconv.Itoa(len(content)))
			_, _ = w.Write([]byte(content[:half]))
			panic(http.ErrAbortHandler)
		}
		return buckettest.SlowDown(w, r)
	})
	far.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(buckettest.Name(r), "far/"+bucket.Objects) && r.Header.Get("Range") != fmt.Sprintf("bytes=%d-", half) {
			t.Errorf("the second source is asked for %q", r.Header.Get("Range"))
		}
		return false
	})
	f.Sync(0)
	e2e.Same(f.Host, "release", "2026.09", release())
	uses("after the cut", "far", true)
	p.Contains("explain", f.Expect(0, "explain").Stdout, "source far is in use", "source near is not in use")

	near.Answer(nil)
	far.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		t.Errorf("%s is asked for although the preferred source works", buckettest.Name(r))
		return false
	})
	f.Sync(0)
	uses("when the first works again", "near", false)

	farStore.Answer(buckettest.SlowDown)
	p.Month("m", "2026.10", strings.Repeat("october__", 300_000)) // no shrink
	p.Syncd("sync")
	f.Sync(0)
	e2e.Same(f.Host, "release", "2026.10", release())
	near.Answer(buckettest.SlowDown)
	far.Answer(nil)
	e2e.Same(f.Host, "exit code while the second is older", 1, f.Syncd("sync").Code)
	e2e.Same(f.Host, "release", "2026.10", release())
	farStore.Answer(nil)
	p.Expect(0, "publish", "--target", "far")
	f.Sync(0)
	uses("when the second has it, too", "far", true)
	browsesTheSecond(f)
}

// browsesTheSecond tries each command that asks a source for a person while the first source fails.
func browsesTheSecond(f *e2e.FollowerHost) {
	note := "source near: "
	for _, args := range [][]string{
		{"manifests"}, {"releases", "m"}, {"files", "m"}, {"get", "Data/2026.10/m.dat", "-o", f.Path("got")},
	} {
		out := f.Expect(0, args...)
		if out.Stdout == "" {
			f.T.Errorf("%s printed nothing", args[0])
		}
		f.Contains(args[0], out.Stderr, note, "asking source far")
	}
	f.Must(os.Mkdir(f.Path("other"), 0o700))
	f.Write("other/m.dat", "of another program", 0o644)
	text := f.Expect(1, "get", "Data/2026.10/m.dat", "-o", f.Path("other"), "--quiet").Stderr
	f.Contains("get beside another file", text, "--force replaces it")
}
