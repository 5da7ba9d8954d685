package signature

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// start removes the credentials of this machine from the environment. The service that
// gives roles is not there.
func start(t *testing.T) {
	t.Helper()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN", "MINIO_ROOT_USER", "MINIO_ROOT_PASSWORD", "MINIO_ACCESS_KEY", "MINIO_SECRET_KEY"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/")
}

func signed(t *testing.T, sign func(*http.Request) error) http.Header {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://s3.example.net/refdata/a", nil)
	if err := sign(r); err != nil {
		t.Fatal(err)
	}
	return r.Header
}

func wantKey(t *testing.T, header http.Header, key string) {
	t.Helper()
	if got := header.Get("Authorization"); !strings.Contains(got, "Credential="+key+"/") || !strings.Contains(got, "/eu-west-1/s3/") {
		t.Errorf("got %q, want the key %s", got, key)
	}
}

func TestCredentialsComeFromTheUsualPlaces(t *testing.T) {
	start(t)
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte("[default]\naws_access_key_id = OFFILE\naws_secret_access_key = secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	wantKey(t, signed(t, Signer(Credentials(), "eu-west-1")), "OFFILE")
	t.Setenv("AWS_ACCESS_KEY_ID", "OFENV")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_SESSION_TOKEN", "token")
	header := signed(t, Signer(Credentials(), "eu-west-1"))
	wantKey(t, header, "OFENV")
	if header.Get("X-Amz-Security-Token") != "token" {
		t.Error("no session token")
	}
	if secrets := strings.Join(Secrets(), " "); secrets != "secret token" {
		t.Errorf("secrets %q", secrets)
	}
}

func TestKeysOfARoleAreRenewed(t *testing.T) {
	start(t)
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"AccessKeyId":"ROLE%d","SecretAccessKey":"s","Token":"t","Code":"Success","Expiration":%q}`, asked.Add(1), time.Now().Add(time.Second).Format(time.RFC3339))
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.URL)
	sign := Signer(Credentials(), "eu-west-1")
	wantKey(t, signed(t, sign), "ROLE1")
	for limit := time.Now().Add(time.Minute); !strings.Contains(signed(t, sign).Get("Authorization"), "ROLE2"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the keys are not renewed")
		}
	}
}

func TestWithoutCredentialsNothingIsSigned(t *testing.T) {
	start(t)
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.URL)
	sign := Signer(Credentials(), "eu-west-1")
	for range 3 {
		if header := signed(t, sign); len(header) > 0 {
			t.Errorf("%v", header)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked for a role %d times", asked.Load())
	}
}
