package transport

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"syncd/internal/emulator"
	"syncd/internal/manifest/refusal"
)

// carriesID is true when any part of a request holds the Customer ID.
func carriesID(r *http.Request) bool {
	text := fmt.Sprint(r.Method, r.RequestURI, r.Host, r.URL, r.Header)
	return NewRedactor(testID).Contains(text) || shows(text, testID) || strings.Contains(text, "K3Y")
}

func TestRedirectsSendTheCustomerIDToItsOriginOnly(t *testing.T) {
	inQuery := url.QueryEscape(testID)
	tests := []struct {
		name, location string // OTHER and SELF stand for the bases
		want           string // the target of the redirected request; "" for no request
	}{
		{"other host", "OTHER/x", "/x"},
		{"other host, id in the query", "OTHER/x?b=2&id=" + inQuery + "&a=1", "/x?b=2&a=1"},
		{"other host, id twice", "OTHER/x?ID=" + inQuery + "&id=" + percent(testID, "%%%02x"), "/x"},
		{"other host, id as a part of a value", "OTHER/x?next=http%3A%2F%2Fh%2F%3Fid%3D" + url.QueryEscape(inQuery) + "&s=%2F+x", "/x?s=%2F+x"},
		{"other host, id as a name", "OTHER/x?" + inQuery + "=1&sig=a%2Bb", "/x?sig=a%2Bb"},
		{"other host, id in the fragment", "OTHER/x#" + inQuery, "/x"},
		{"other host, id in the user part", "http://" + inQuery + ":" + inQuery + "@OTHERHOST/x", "/x"},
		{"other host, id in the path", "OTHER/" + percent(testID, "%%%02X"), ""},
		{"other host, id in the path, twice encoded", "OTHER/" + url.PathEscape(url.PathEscape(testID)) + "/y", ""},
		{"other host, id over several parameters", "OTHER/x?id=" + strings.TrimSuffix(testID, "%") + "%25", ""},
		{"other host, another id", "OTHER/x?id=other", "/x?id=other"},
		{"same origin, relative", "x", "/a/x?id=" + inQuery},
		{"same origin, from the root", "/x?b=2&a=1", "/x?b=2&a=1&id=" + inQuery},
		{"same origin, whole address", "SELF/x", "/x?id=" + inQuery},
		{"same origin, repeats the id", "SELF/x?ID=" + inQuery, "/x?ID=" + inQuery},
		{"same origin, in other letters", "HTTP://SELFHOST/x", "/x?id=" + inQuery},
		{"same origin, with a user part", "http://evil:pw@SELFHOST/x", "/x?id=" + inQuery},
		{"same host, no scheme", "//OTHERHOST/x?id=" + inQuery, "/x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			other := plainServer(t, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("done")) })
			var self *recorder
			self = plainServer(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/a/b" {
					w.Write([]byte("done"))
					return
				}
				hostOf := func(r *recorder) string { return strings.TrimPrefix(r.URL, "http://") }
				location := strings.NewReplacer("OTHERHOST", hostOf(other), "OTHER", other.URL, "SELFHOST", hostOf(self), "SELF", self.URL).Replace(tt.location)
				w.Header().Set("Location", location)
				w.WriteHeader(http.StatusFound)
			})
			base := strings.Replace(self.URL, "http://", "http://user:pa%20ss@", 1)
			_, body, err := newClient(t, base).Do(t.Context(), Request{Endpoint: "E", Segments: []string{"a", "b"}, Limit: 100, Header: http.Header{"Range": {"bytes=1-"}}})
			assertNoID(t, "error", err)
			if (err == nil && string(body) == "done") != (tt.want != "") {
				t.Fatalf("%q, %v", body, err)
			}
			for _, r := range other.requests() {
				if carriesID(r) || r.Header.Get("Authorization") != "" {
					t.Errorf("the other origin was told: %s %v", r.RequestURI, r.Header)
				}
				if r.Header.Get("Range") != "bytes=1-" {
					t.Error("a header of the request was lost")
				}
			}
			want := "Basic " + base64.StdEncoding.EncodeToString([]byte("user:pa ss"))
			for _, r := range self.requests() {
				if r.Header.Get("Authorization") != want {
					t.Errorf("the origin got %q", r.Header.Get("Authorization"))
				}
			}
			all := append(self.requests()[1:], other.requests()...)
			if tt.want == "" && len(all) == 0 {
				return
			}
			if len(all) != 1 || all[0].RequestURI != tt.want {
				t.Errorf("%d requests followed, want %q", len(all), tt.want)
				for _, r := range all {
					t.Log(r.RequestURI)
				}
			}
		})
	}
}

func TestARedirectBackToTheOriginSendsTheCustomerIDAgain(t *testing.T) {
	var self *recorder
	other := plainServer(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, self.URL+"/end", http.StatusSeeOther)
	})
	self = plainServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/end" {
			http.Redirect(w, r, other.URL+"/?id="+url.QueryEscape(testID), http.StatusMovedPermanently)
		}
	})
	c := newClient(t, strings.Replace(self.URL, "http://", "http://user:pass@", 1))
	if _, _, err := c.Do(t.Context(), Request{Endpoint: "E", Limit: 100}); err != nil {
		t.Fatal(err)
	}
	if r := self.requests()[1]; r.URL.Query().Get("id") != testID || r.Header.Get("Authorization") == "" {
		t.Errorf("%s %v", r.RequestURI, r.Header)
	}
	if r := other.requests()[0]; carriesID(r) || r.Header.Get("Authorization") != "" {
		t.Errorf("the other origin was told: %s %v", r.RequestURI, r.Header)
	}
}

func TestTheDownloadHostGetsNoCredentials(t *testing.T) {
	e := startEmulator(t)
	res, err := newClient(t, e.URL()).Open(t.Context(), Request{Endpoint: "Download", Segments: []string{"Download", "Data", "2026.10", "a.dat"}})
	must(t, err)
	res.Body.Close()
	requests := e.Requests()
	if len(requests) != 2 || requests[1].Host != emulator.HostDownload {
		t.Fatalf("%+v", requests)
	}
	r := requests[1]
	if text := fmt.Sprint(r.Path, r.RawQuery, r.Header); shows(text, testID) || r.RawQuery != "" || r.Header.Get("Authorization") != "" {
		t.Errorf("the download host was told: %s", text)
	}
}

func TestAtMostTenRedirectsAreFollowed(t *testing.T) {
	for count, ok := range map[int]bool{maxRedirects: true, maxRedirects + 1: false} {
		left := count
		server := plainServer(t, func(w http.ResponseWriter, r *http.Request) {
			if left > 0 {
				left--
				http.Redirect(w, r, r.URL.String(), http.StatusTemporaryRedirect)
			}
		})
		_, _, err := newClient(t, server.URL).Do(t.Context(), Request{Endpoint: "E", Limit: 1})
		if (err == nil) != ok || len(server.requests()) != maxRedirects+1 {
			t.Errorf("%d redirects: %d requests, %v", count, len(server.requests()), err)
		}
	}
}

func TestRedirectsFromHTTPSToHTTPAreRefused(t *testing.T) {
	plain := plainServer(t, func(http.ResponseWriter, *http.Request) {})
	secure, ca := tlsServer(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain.URL+"/x", http.StatusFound)
	})
	for _, allow := range []bool{false, true} {
		c := newClient(t, secure.URL, func(cfg *Config) { cfg.CAFile, cfg.AllowInsecureHTTP = ca, allow })
		_, _, err := c.Do(t.Context(), list)
		if refusal.ReasonOf(err) != refusal.Insecure || len(plain.requests()) != 0 {
			t.Errorf("allow_insecure_http %t: %v", allow, err)
		}
	}
}

func TestRedirectSchemes(t *testing.T) {
	tests := []struct {
		from, to string
		allow    bool
		ok       bool
	}{
		{"http://a", "https://b", false, true},
		{"https://a", "https://b", false, true},
		{"http://a", "http://127.0.0.1:80/", false, true},
		{"http://a", "http://127.8.9.10/", false, true},
		{"http://a", "http://[::1]:80/", false, true},
		{"http://a", "http://LOCALHOST/", false, true},
		{"http://a", "http://b", false, false},
		{"http://a", "http://b", true, true},
		{"http://a", "http://localhost.example/", false, false},
		{"http://a", "http://127.0.0.1.example/", false, false},
		{"http://a", "http://0.0.0.0/", false, false},
		{"http://a", "http://[::ffff:192.0.2.1]/", false, false},
		{"https://a", "http://b", true, false},
		{"https://a", "http://127.0.0.1/", true, false},
		{"http://a", "ftp://b", true, false},
		{"http://a", "file:///etc/passwd", true, false},
	}
	for _, tt := range tests {
		from, _ := url.Parse(tt.from)
		to, _ := url.Parse(tt.to)
		c := newClient(t, "https://base.example", func(cfg *Config) { cfg.AllowInsecureHTTP = tt.allow })
		if err := c.checkScheme(from, to); (err == nil) != tt.ok {
			t.Errorf("%s to %s: %v", tt.from, tt.to, err)
		}
	}
}

func TestA304IsNoRedirect(t *testing.T) {
	server := plainServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusNotModified)
	})
	res, _, err := newClient(t, server.URL).Do(t.Context(), Request{Endpoint: "E", Limit: 1, Header: http.Header{"If-None-Match": {`"x"`}}})
	if err != nil || res.Status != http.StatusNotModified || len(server.requests()) != 1 {
		t.Errorf("%v, %v", res, err)
	}
}

func TestARedirectLoopIsNotRetried(t *testing.T) {
	e := startEmulator(t)
	e.AddFault(redirect("self"))
	_, _, err := newClient(t, e.URL()).Do(t.Context(), list)
	if failed, ok := errors.AsType[*Error](err); !ok || failed.Kind != Rejected || len(e.Requests()) != maxRedirects+1 {
		t.Errorf("%d requests, %v", len(e.Requests()), err)
	}
}
