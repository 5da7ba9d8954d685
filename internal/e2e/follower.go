package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/downstream/bucket/buckettest"
)

// FollowerHost is a host that mirrors the bucket of a real S3 server.
type FollowerHost struct {
	*Host
	Store *buckettest.Server
	Front *buckettest.Front // before store
}

// NewFollower configures a host for a new, empty bucket.
func NewFollower(t *testing.T, manifests ...string) *FollowerHost {
	t.Helper()
	store := buckettest.New(t)
	return (&FollowerHost{Host: NewHost(t, manifests...), Store: store, Front: buckettest.NewFront(t, store)}).Follow()
}

// Follow configures the bucket as the source, and lets no secret key reach a file.
func (f *FollowerHost) Follow() *FollowerHost {
	f.Helper()
	f.Environ = append(f.Environ, "AWS_ACCESS_KEY_ID="+buckettest.AccessKey, "AWS_SECRET_ACCESS_KEY="+buckettest.SecretKey)
	f.Settings.Bucket = fmt.Sprintf("s3: {endpoint: %q, bucket: %s, prefix: mirror/}", f.Front.Endpoint, buckettest.Bucket)
	f.Configure()
	f.Cleanup(f.KeyFree)
	return f
}

// KeyFree expects no secret key in the output of gates and hooks, and in no file.
func (f *FollowerHost) KeyFree() {
	f.Must(filepath.WalkDir(f.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), buckettest.SecretKey) {
			f.Errorf("the secret key is in %s", path)
		}
		return err
	}))
}

// FreeAddress is a free address for a program that is told its port, such as Prometheus.
func FreeAddress(h *Host) string {
	h.Helper()
	return buckettest.FreeAddress(h.T)
}
