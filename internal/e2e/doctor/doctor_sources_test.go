package doctor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// Each source of a list is looked at like a single one, and so is each place to publish to. A
// finding names the source, and the next step its key.
func TestDoctorLooksAtEachSourceAndPlace(t *testing.T) {
	t.Parallel()
	e2e.AsRoot(t)
	store := buckettest.New(t)
	store.Publish("mirror/", 1, buckettest.Release{Manifest: "m", Release: "2026.10", Files: map[string]string{"m.dat": "good"}})
	f := &e2e.FollowerHost{Host: e2e.NewHost(t, "m"), Store: store, Front: buckettest.NewFront(t, store)}
	f.Provider.SetManifest("m", "2026.10", emulator.File{Name: "m.dat", Content: emulator.Random(1, 1<<10)})
	keys(f, buckettest.AccessKey, buckettest.SecretKey)
	down := "http://" + e2e.FreeAddress(f.Host)
	bucket := func(endpoint, name string) string {
		return fmt.Sprintf("endpoint: %q, bucket: %s, prefix: mirror/, region: %s", endpoint, name, buckettest.Region)
	}
	_, rest, _ := strings.Cut(string(f.Read("syncd.yaml")), "data_dir:")
	f.Write("wrong-id", "ANOTHER-ID\n", 0o600)
	write := func(sources, more string) {
		f.Write("syncd.yaml", "source:\n"+sources+"data_dir:"+rest+more, 0o644)
	}
	first := fmt.Sprintf("  - {name: near, url: %q, customer_id_file: id}\n", f.Provider.URL())
	write(first+fmt.Sprintf("  - {name: far, s3: {%s}}\n", bucket(f.Front.Endpoint, buckettest.Bucket)),
		fmt.Sprintf("publish: {s3: [{name: here, %s}, {name: there, %s}]}\n", strings.Replace(bucket(f.Front.Endpoint, buckettest.Bucket), "mirror/", "ours/", 1), strings.Replace(bucket(f.Front.Endpoint, buckettest.Bucket), "mirror/", "theirs/", 1)))
	if d := doctor(f.Host, 0); !slices.ContainsFunc(d.Findings, func(f finding) bool { return f.Check == "sources" && strings.HasPrefix(f.Text, "far: ") }) {
		t.Errorf("sound sources: %+v", d.Findings)
	}
	write(first+fmt.Sprintf("  - {name: down, url: %q, customer_id_file: id}\n", down)+
		fmt.Sprintf("  - {name: stranger, url: %q, customer_id_file: wrong-id}\n", strings.Replace(f.Provider.URL(), "127.0.0.1", "localhost", 1))+
		fmt.Sprintf("  - {name: lost, s3: {%s}}\n", bucket(f.Front.Endpoint, "wrong-bucket")),
		fmt.Sprintf("publish: {s3: [{name: here, %s}, {name: there, %s}]}\n", strings.Replace(bucket(f.Front.Endpoint, buckettest.Bucket), "mirror/", "ours/", 1), bucket(f.Front.Endpoint, "other-bucket")))
	d := doctor(f.Host, 1)
	for _, want := range []finding{
		{Check: "sources", Severity: "failure", Text: "down: connection: " + strings.TrimPrefix(down, "http://") + ": nothing listens there", Next: "source[1].url"},
		{Check: "sources", Severity: "failure", Text: "stranger: licence: manifest m: status 401", Next: "Customer ID"},
		{Check: "sources", Severity: "failure", Text: "lost: service: source[3].s3: ", Next: "source[3].s3.bucket"},
		{Check: "bucket", Severity: "failure", Text: "there: publish.s3[1]: ", Next: "publish.s3[1].bucket"},
		{Check: "bucket", Severity: "ok", Text: "here: publish.s3[0]: the bucket can be read and written"},
		{Check: "licence", Severity: "ok"},
	} {
		if !slices.ContainsFunc(d.Findings, func(f finding) bool {
			return f.Check == want.Check && f.Severity == want.Severity && strings.HasPrefix(f.Text, want.Text) && strings.Contains(f.Next, want.Next)
		}) {
			t.Errorf("no finding %+v in %+v", want, d.Findings)
		}
	}
	// A file of a later source that is not there ends `config check`.
	write(first+fmt.Sprintf("  - {name: far, url: %q, customer_id_file: missing-id}\n", down), "")
	f.Contains("the ID of a later source", f.Expect(2, "config", "check").Stderr, "source[1]", "customer_id_file")
	write(first+fmt.Sprintf("  - {name: far, url: %q, customer_id_file: id, ca_file: missing.pem}\n", down), "")
	f.Contains("the CA of a later source", f.Expect(2, "config", "check").Stderr, "source[1].ca_file", "missing.pem")
}
