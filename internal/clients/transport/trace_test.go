package transport

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// Heads hold no credentials: of the Customer ID, of the address, of cookies, and of the
// address that a redirect leads to.
func TestHeadsHoldNoSecrets(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "session=s3cret")
		w.Header().Set("X-Echo", r.URL.Query().Get("id"))
		if r.URL.Path == "/base/Lookup" {
			http.Redirect(w, r, "/other?Signature=s3cret&a1=12", http.StatusFound)
		}
	}))
	defer server.Close()
	base, err := url.Parse(strings.Replace(server.URL, "://", "://ada:s3cret@", 1) + "/base?token=s3cret")
	if err != nil {
		t.Fatal(err)
	}
	var heads []string
	client, err := New(Config{Base: base, CustomerID: "CID-s3cret", IDParam: "id", Trace: func(sent bool, head string) {
		heads = append(heads, head)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, _, err := client.Do(t.Context(), Request{Endpoint: "x", Segments: []string{"Lookup"}, Query: url.Values{"a1": {"12"}}}); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(heads, "\n")
	for _, want := range []string{
		"GET " + server.URL + "/base/Lookup?a1=12&id=REDACTED&token=REDACTED\nAuthorization: REDACTED\n", "HTTP/1.1 302 Found\n", "Set-Cookie: REDACTED\nX-Echo: REDACTED\n",
		"GET " + server.URL + "/other?Signature=REDACTED&a1=12&id=REDACTED\n", "HTTP/1.1 200 OK\n",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	if len(heads) != 4 || strings.Contains(all, "s3cret") {
		t.Errorf("%d heads:\n%s", len(heads), all)
	}
}
