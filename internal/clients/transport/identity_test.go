package transport

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestALongIDIsRemovedInAnyCase(t *testing.T) {
	r := NewRedactor("Ab12-ünïÇ")
	for _, text := range []string{"ab12-ünïç", "AB12-ÜNÏÇ", "aB12-üNïç", url.QueryEscape("AB12-ÜNÏÇ")} {
		if got := r.String("id=" + text + "."); got != "id="+redacted+"." {
			t.Errorf("%s gives %s", text, got)
		}
	}
	if short := NewRedactor("Data"); short.String("data DATA Data") != "data DATA "+redacted {
		t.Error("a short ID was removed in another case")
	}
}

func TestBase64OfTheIDIsRemoved(t *testing.T) {
	alphabets := []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding}
	for _, id := range []string{testID, "ABCD1234", "k3y/\xf0\x9d\x95\x8f?>~~", "123456789012"} {
		r := NewRedactor(id)
		for _, encoding := range alphabets {
			if got := r.String("Basic " + encoding.EncodeToString([]byte(id))); strings.TrimRight(got, "=") != "Basic "+redacted {
				t.Errorf("%s alone gives %s", id, got)
			}
			for _, before := range []string{"", "u", "us", "use", "user:"} {
				for _, after := range []string{"", ":", ":p", ":pw"} {
					text := encoding.EncodeToString([]byte(before + id + after))
					got := r.String(text)
					// Up to two characters beside the ID hold bits of it and of its neighbour.
					if rest := strings.Replace(got, redacted, "", 1); rest == got || len(rest) > (len(before)+len(after))*4/3+6 {
						t.Errorf("%q in %s gives %s", before+id+after, text, got)
					}
				}
			}
		}
	}
	if got := NewRedactor("2026").String("MjAyNg=="); got != redacted+"==" {
		t.Errorf("a short ID gives %s", got)
	}
}

// accidents are Customer IDs that honest names and numbers hold.
var accidents = []string{"2026", "1234", "Data", "20261001", "123456789"}

func TestNamesAndNumbersHoldAShortOrNumericIDByAccident(t *testing.T) {
	for _, id := range accidents {
		text := "Data/2026.10/sales_20261001.zip 1234 123456789 " + id
		if r := NewRedactor(id); r.ForNames().String(text) != text || !strings.HasSuffix(r.String(text), redacted) {
			t.Errorf("%s: %s, %s", id, r.ForNames().String(text), r.String(text))
		}
	}
	if r := testRedactor.ForNames(); r.String(testID) != redacted {
		t.Error("an ID that no name holds by accident was left in a name")
	}
}

func TestHonestPathsDoNotHoldTheID(t *testing.T) {
	for _, row := range []struct {
		id, path string
		want     bool
	}{
		{"2026", "Data/2026.10/2026", false},
		{"Data", "Data/2026.10/ews.txt", false},
		{"20261001", "Data/2026.10/sales_20261001.zip", false},
		{"20261001", "Data/2026.10/20261001", true},
		{"20261001", "Data/2026.10/%32%30261001", true},
		{"20261001x", "Data/2026.10/sales_20261001X.zip", true},
	} {
		c := newClient(t, "http://127.0.0.1:1", func(cfg *Config) { cfg.CustomerID = row.id })
		if got := c.HoldsID(row.path); got != row.want {
			t.Errorf("ID %s in %s: %t", row.id, row.path, got)
		}
	}
}

func TestNumbersInJSONStayNumbers(t *testing.T) {
	r := NewRedactor("1234")
	for body, want := range map[string]string{
		`{"size":1234,"id":"1234","n":[1234,"x\"1234"]}`: `{"size":1234,"id":"REDACTED","n":[1234,"x\"REDACTED"]}`,
		`cb1234({"a":1234,"b":"1234"});`:                 `cbREDACTED({"a":1234,"b":"REDACTED"});`,
		`[12345]`:                                        `[12345]`,
		`{"1234":1234}`:                                  `{"REDACTED":1234}`,
		`{"broken":1234`:                                 `{"broken":REDACTED`,
		`id 1234 {`:                                      `id REDACTED {`,
		`]1234[`:                                         `]REDACTED[`,
		`"1234"`:                                         `"REDACTED"`,
		`{"none":1}`:                                     `{"none":1}`,
		`{"a":"\u0031\u003234\\"}`:                       `{"a":"REDACTED\\"}`,
	} {
		if got := string(r.Body([]byte(body))); got != want {
			t.Errorf("%s gives %s, want %s", body, got, want)
		}
	}
}

func TestHeadersWithNumbersAndDatesStayExact(t *testing.T) {
	exact := map[string]string{"Content-Range": "bytes 0-1/2026", "Last-Modified": "Thu, 01 Oct 2026 12:00:00 GMT"}
	server := plainServer(t, func(w http.ResponseWriter, r *http.Request) {
		for name, value := range exact {
			w.Header().Set(name, value)
		}
		w.Header().Set("Link", "2026")
		w.Header().Set("Etag", `"2026-a"`)
	})
	c := newClient(t, server.URL, func(cfg *Config) { cfg.CustomerID = "2026" })
	res, _, err := c.Do(t.Context(), list)
	must(t, err)
	got := map[string]string{}
	for name := range exact {
		got[name] = res.Header.Get(name)
	}
	if diff := cmp.Diff(exact, got); diff != "" || res.Header.Get("Link") != redacted || res.Header.Get("Etag") != "" {
		t.Error(diff, res.Header)
	}
}

func TestRedirectsKeepDatesAndSignaturesThatHoldAShortID(t *testing.T) {
	for id, want := range map[string]string{
		"2026":     "/2026.10/a_20261001.dat?expires=20261122&sig=ab2026cd",
		"20261001": "/2026.10/a_20261001.dat?expires=20261122&sig=ab2026cd",
	} {
		var asked string
		other := plainServer(t, func(_ http.ResponseWriter, r *http.Request) { asked = r.URL.String() })
		server := plainServer(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", other.URL+want+"&ID="+id+"&again="+id+"&"+id)
			w.WriteHeader(http.StatusFound)
		})
		c := newClient(t, server.URL, func(cfg *Config) { cfg.CustomerID = id })
		res, err := c.Open(t.Context(), list)
		must(t, err)
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if asked != want {
			t.Errorf("ID %s: asked for %s", id, asked)
		}
	}
}
