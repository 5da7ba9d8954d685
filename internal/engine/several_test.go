package engine

import (
	"net/url"
	"slices"
	"testing"

	"syncd/internal/config"
)

// Gates and hooks get no credentials of a bucket, also if only a later source is one.
func TestCommandsGetNoKeysOfALaterSource(t *testing.T) {
	const key = "a-secret-key-of-a-bucket"
	t.Setenv("AWS_ACCESS_KEY_ID", "some-key-id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", key)
	cfg := &config.Config{Others: []config.Source{{S3: config.S3{Endpoint: &url.URL{Scheme: "https", Host: "s3.example.net"}}}}}
	if slices.Contains(commandEnviron(cfg, "customer-id"), "AWS_SECRET_ACCESS_KEY="+key) {
		t.Error("a command would get the key")
	}
}
