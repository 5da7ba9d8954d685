package transport

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// counting is a Sign that numbers its signatures.
func counting(c *Config) {
	signed := 0
	c.CustomerID, c.IDParam = "", ""
	c.Sign = func(r *http.Request) error {
		signed++
		r.Header.Set("Authorization", "signature "+strconv.Itoa(signed)+" of "+r.URL.Path)
		return nil
	}
}

func TestEachAttemptIsSignedAnewForTheBaseOnly(t *testing.T) {
	other := plainServer(t, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("done")) })
	attempts := 0
	self := plainServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch attempts++; {
		case attempts < 3:
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/a":
			w.Header().Set("Location", "/b")
			w.WriteHeader(http.StatusTemporaryRedirect)
		default:
			w.Header().Set("Location", other.URL+"/c")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
	})
	_, body, err := newClient(t, self.URL, counting).Do(t.Context(), Request{Endpoint: "E", Segments: []string{"a"}, Limit: 100})
	if err != nil || string(body) != "done" {
		t.Fatalf("%q, %v", body, err)
	}
	var got []string
	for _, r := range append(self.requests(), other.requests()...) {
		got = append(got, r.Header.Get("Authorization"))
	}
	if want := "signature 1 of /a,signature 2 of /a,signature 3 of /a,signature 4 of /b,"; strings.Join(got, ",") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestErrorsOfObjectStorageShowCodeAndMessage(t *testing.T) {
	for _, row := range []struct {
		status     int
		body, want string
	}{
		{403, `<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied.</Message><AWSAccessKeyId>KEY</AWSAccessKeyId></Error>`,
			"E /a: status 403 Forbidden: AccessDenied: Access Denied; check the credentials, what they allow, and the clock"},
		{404, `<Error xmlns="http://s3"><Code>NoSuchKey</Code><Message>no` + "\n" + `such key</Message></Error>`, "E /a: status 404 Not Found: NoSuchKey: no such key"},
		{404, `<html><Code>x</Code></html>`, "E /a: status 404 Not Found"},
		{404, `<Error><Code>`, "E /a: status 404 Not Found"},
	} {
		server := plainServer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(row.status)
			w.Write([]byte(row.body))
		})
		_, _, err := newClient(t, server.URL, counting).Do(t.Context(), Request{Endpoint: "E", Segments: []string{"a"}, Limit: 100})
		if err == nil || err.Error() != row.want {
			t.Errorf("%v, want %s", err, row.want)
		}
	}
}

func TestRequestThatCannotBeSignedIsNotSent(t *testing.T) {
	server := plainServer(t, func(http.ResponseWriter, *http.Request) {})
	broken := func(c *Config) {
		c.Retry = quick
		c.Sign = func(*http.Request) error { return errors.New("no credentials now") }
	}
	_, _, err := newClient(t, server.URL, broken).Do(t.Context(), Request{Endpoint: "E", Segments: []string{"a"}, Limit: 100})
	if !IsTransient(err) || len(server.requests()) > 0 {
		t.Errorf("%v, %d requests", err, len(server.requests()))
	}
}
