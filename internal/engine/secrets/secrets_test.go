package secrets

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"testing"

	"syncd/internal/config"
)

// A variable of another program can hold the Customer ID, such as a link to the provider. Each
// source has a Customer ID of its own.
func TestNoCommandGetsACustomerIDInAnySpelling(t *testing.T) {
	const first, later = "an-id-of-the-hub", "K3Y/with+special=chars&%"
	for name, value := range map[string]string{
		"FIRST": first, "PLAIN": later, "QUERY": "https://releases.example.net/?id=" + url.QueryEscape(later), "LOWER": strings.ToLower(later), "UPPER": strings.ToUpper(later),
		"BASE64": base64.StdEncoding.EncodeToString([]byte("user:" + later)), "KEPT": "kept",
	} {
		t.Setenv("ID_"+name, value)
	}
	got := map[string]string{}
	for _, variable := range Of(&config.Config{}, first, later).Environ() {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "ID_") {
			got[name] = value
		}
	}
	if len(got) != 1 || got["ID_KEPT"] != "kept" {
		t.Errorf("commands get %v", got)
	}
}

func TestACleanTextHasTheCustomerIDOfNoSource(t *testing.T) {
	s := Of(&config.Config{}, "an-id-of-the-hub", "", "a-customer-id")
	if got := s.Clean("one: an-id-of-the-hub, two: a-customer-id"); got != "one: REDACTED, two: REDACTED" {
		t.Errorf("got %q", got)
	}
}

// Gates and hooks get no credentials of a bucket, also if only a later source is one.
func TestCommandsGetNoKeysOfALaterSource(t *testing.T) {
	const key = "a-secret-key-of-a-bucket"
	t.Setenv("AWS_ACCESS_KEY_ID", "some-key-id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", key)
	cfg := &config.Config{Others: []config.Source{{S3: config.S3{Endpoint: &url.URL{Scheme: "https", Host: "s3.example.net"}}}}}
	if slices.Contains(Of(cfg, "customer-id").Environ(), "AWS_SECRET_ACCESS_KEY="+key) {
		t.Error("a command would get the key")
	}
}
