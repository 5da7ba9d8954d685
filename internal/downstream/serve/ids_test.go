package serve

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"syncd/internal/downstream/rings"
)

func TestAnIDIsShownOnceAndKeptAsItsSum(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids")
	must(t, os.WriteFile(path, []byte("# followers"), 0o640))
	first, err := AddID(path, "one", "")
	must(t, err)
	second, err := AddID(path, "two", "canary")
	must(t, err)
	text, err := os.ReadFile(path)
	must(t, err)
	info, err := os.Stat(path)
	must(t, err)
	if first == second || !rings.IsID(first) || strings.Contains(string(text), first) || info.Mode().Perm() != 0o640 || !strings.HasPrefix(string(text), "# followers\n") {
		t.Errorf("ids %s and %s, mode %o, file %q", first, second, info.Mode(), text)
	}
	ids, err := OpenIDs(path)
	must(t, err)
	for id, want := range map[string]Identity{first: {Name: "one"}, second: {Name: "two", Ring: "canary"}} {
		if got, ok := ids.find(id); !ok || got.Name != want.Name || got.Ring != want.Ring {
			t.Errorf("%s is %+v, %t", id, got, ok)
		}
	}
	if _, err := AddID(path, "one", ""); err == nil || !strings.Contains(err.Error(), "remove it first") {
		t.Errorf("a second id for a name: %v", err)
	}
	must(t, RemoveID(path, "one"))
	if _, ok := ids.find(first); !ok {
		t.Error("the removed id is refused before the file is read again")
	}
	must(t, ids.Reload())
	if _, ok := ids.find(first); ok {
		t.Error("the removed id still counts")
	}
	if _, ok := ids.find(second); !ok {
		t.Error("the other id was removed, too")
	}
	if err := RemoveID(path, "one"); err == nil {
		t.Error("a name without an id was removed")
	}
}

func TestAFileOfIDsIsReadStrictly(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	for text, want := range map[string]string{
		"":                                  "",
		"# nothing\n\n":                     "",
		sum + " a\r\n" + sum + "\tb canary": "",
		sum:                                 "line 1 is not",
		"S3CRET a":                          "line 1 is not",
		"\n" + sum + "0a a":                 "line 2 is not",
		sum + " a b c":                      "line 1 is not",
		sum + " a/b":                        "line 1 is not",
		sum + " a \x1b[0m":                  "line 1 is not",
		sum + " a\n" + sum + " a":           "line 2 has the name",
		sum + " " + strings.Repeat("a", 65): "line 1 is not",
		strings.Repeat("z", 64) + " a":      "line 1 is not",
	} {
		_, err := parseIDs([]byte(text))
		switch {
		case want == "" && err == nil:
		case want == "" || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "S3CRET"):
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestADamagedFileOfIDsChangesNothing(t *testing.T) {
	ids := idsOf(t, Identity{Name: "host"})
	for _, text := range []string{"nonsense\n", strings.Repeat("x", maxIDs+1)} {
		must(t, os.WriteFile(ids.path, []byte(text), 0o600))
		if err := ids.Reload(); err == nil {
			t.Errorf("%.20q was accepted", text)
		}
		if _, ok := ids.find(followerID); !ok {
			t.Errorf("after %.20q: the id no longer counts", text)
		}
	}
	must(t, os.Remove(ids.path))
	if err := ids.Reload(); err == nil || !strings.Contains(err.Error(), "serve-id add") {
		t.Errorf("without a file: %v", err)
	}
}

func TestIDsAddedAtTheSameTimeAreAllKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids")
	var adding sync.WaitGroup
	for i := range 20 {
		adding.Go(func() {
			if _, err := AddID(path, string(rune('a'+i)), ""); err != nil {
				t.Error(err)
			}
		})
	}
	adding.Wait()
	all, err := ReadIDs(path)
	must(t, err)
	left, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	if len(all) != 20 || len(left) != 1 {
		t.Errorf("%d ids, %d files", len(all), len(left))
	}
}

func FuzzParseIDs(f *testing.F) {
	f.Add([]byte(strings.Repeat("0a", 32) + " a ring\n# b\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := parseIDs(text)
		if err != nil {
			return
		}
		var again bytes.Buffer
		for _, id := range all {
			again.WriteString(id.line())
		}
		if same, err := parseIDs(again.Bytes()); err != nil || len(same) != len(all) {
			t.Errorf("%q becomes %q: %v", text, again.Bytes(), err)
		}
	})
}

func TestWithoutAFileOnlyLoopbackMayAsk(t *testing.T) {
	s := New(Config{IDParam: "id"})
	for remote, want := range map[string]bool{
		"127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:1": true, "[::ffff:127.0.0.1]:1": true,
		"10.0.0.1:1": false, "[2001:db8::1]:1": false, "[fe80::1%lo]:1": false, "": false, "127.0.0.1": false, "localhost:1": false,
	} {
		r := httptest.NewRequest("GET", "/Browse?id=x", nil)
		r.RemoteAddr = remote
		if _, got := s.authorise(&call{r: r}); got != want {
			t.Errorf("%q: %t", remote, got)
		}
	}
}

// The answer comes from the handler itself: a test has no other address.
func TestAStrangerGetsNothingWithoutAFileOfIDs(t *testing.T) {
	e := startProvider(t)
	u := startUpstream(t, mirrored(t, e), func(c *Config) { c.IDs = nil })
	if got := ask(t, "GET", withID(u.url()+"/SHA256/Data/latest/mdAddr.dat", "anything")); got.StatusCode != 200 {
		t.Errorf("from loopback: %d %s", got.StatusCode, got.text)
	}
	if got := ask(t, "GET", u.url()+"/SHA256/Data/latest/mdAddr.dat"); got.StatusCode != 401 {
		t.Errorf("from loopback without an id: %d", got.StatusCode)
	}
	r := httptest.NewRequest("GET", withID("/SHA256/Data/latest/mdAddr.dat", "anything"), nil)
	r.RemoteAddr = "10.0.0.1:1"
	w := httptest.NewRecorder()
	u.ServeHTTP(w, r)
	if w.Code != 401 {
		t.Errorf("from another host: %d %s", w.Code, w.Body)
	}
	rebound, err := http.NewRequest("GET", withID(u.url()+"/SHA256/Data/latest/mdAddr.dat", "anything"), nil)
	must(t, err)
	rebound.Host = "evil.example"
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(rebound)
	must(t, err)
	res.Body.Close()
	if res.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("by a web page's name: %d", res.StatusCode)
	}
}
