package serve

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// rawAsk sends a request line as it is, which net/http's client would clean.
func rawAsk(t testing.TB, address, target string, headers ...string) (status int, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s\r\n", target, address, strings.Join(append(headers, ""), "\r\n"))
	must(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	must(t, err)
	return res.StatusCode, string(text)
}

// encodings are the ways to write a piece of a path.
var encodings = map[string]func(string) string{
	"as it is": func(s string) string {
		return strings.NewReplacer(" ", "%20", "\r", "%0d", "\n", "%0a", "\x00", "%00").Replace(s)
	},
	"escaped": url.PathEscape,
	"twice":   func(s string) string { return url.PathEscape(url.PathEscape(s)) },
	"every byte": func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
		return b.String()
	},
	"overlong": func(s string) string {
		return strings.NewReplacer(".", "%c0%ae", "/", "%c0%af", `\`, "%c1%9c").Replace(s)
	},
}

// escapes are names that lead out of a directory somewhere.
func escapes(outside string) []string {
	up := strings.Repeat("../", 12)
	return []string{"..", "../..", up + strings.TrimPrefix(outside, "/"), outside, "/" + outside, strings.ReplaceAll(up, "/", `\`) + "etc/passwd",
		"..;/..;/etc/passwd", "....//....//etc/passwd", "mdAddr.dat/../../x", "mdAddr.dat\x00", "mdAddr.dat%00", "file:///etc/passwd", "./mdAddr.dat/.", "~root", "CON", "mdAddr.dat::$DATA"}
}

// harmfulLinks are the links that the parsers of syncd refuse.
func harmfulLinks(t *testing.T) (links []string) {
	t.Helper()
	text, err := os.ReadFile("../../manifest/testdata/attacks.json")
	must(t, err)
	var attacks []struct{ Links []string }
	must(t, json.Unmarshal(text, &attacks))
	for _, a := range attacks {
		for _, link := range a.Links {
			if strings.HasPrefix(link, "/") && !strings.ContainsAny(link, " \r\n\x00?#") {
				links = append(links, link)
			}
		}
	}
	if len(links) < 20 {
		t.Fatalf("only %d links", len(links))
	}
	return links
}

func TestNoSpellingOfAPathLeadsToAnotherFile(t *testing.T) {
	e := startProvider(t)
	u := startUpstream(t, mirrored(t, e), nil)
	outside := filepath.Join(t.TempDir(), "outside")
	must(t, os.WriteFile(outside, []byte("must not be served"), 0o644))
	id := "?id=" + url.QueryEscape(followerID)
	known := map[string]bool{"data": true, "before": true, "old": true, "64": true}
	for _, link := range harmfulLinks(t) {
		if status, body := rawAsk(t, u.address, link+id); status != 404 && status != 400 {
			t.Errorf("%s: %d %.200q", link, status, body)
		}
	}
	for _, attack := range escapes(outside) {
		for how, encode := range encodings {
			piece := encode(attack)
			for _, target := range []string{
				"/Download/Data/2026.10/" + piece, "/Download/Data/" + piece + "/mdAddr.dat", "/Download/" + piece + "/2026.10/mdAddr.dat", "/" + piece,
				"/Download/Library/" + piece + "/GCC48/64BIT/2026.10/lib.so", "/Manifest/2026.10/" + piece, "/Manifest/" + piece + "/All_Classes",
				"/ManifestReleases/" + piece, "/Metadata/Data/2026.10/" + piece, "/SHA256/Data/2026.10/" + piece, "/Releases/Data/" + piece, "/ManifestList/" + piece,
				"/Browse" + id + "&mft=" + url.QueryEscape(piece) + "&release=" + url.QueryEscape(piece), "/Download/Data/2026.10/mdAddr.dat" + id + "&tag=" + url.QueryEscape(attack),
			} {
				if !strings.Contains(target, "?") {
					target += id
				}
				status, body := rawAsk(t, u.address, target)
				if strings.Contains(body, "must not be served") || strings.Contains(body, "root:") || strings.HasPrefix(target, "/Download") && status == 200 && !known[body] {
					t.Errorf("%s, %s: %d %.200q", how, target, status, body)
				}
				if status >= 500 {
					t.Errorf("%s, %s: %d", how, target, status)
				}
			}
		}
	}
}

// A cache reads a query without decoding its names. It must not keep the file with a tag
// under the key of the file without, and the other way round.
func TestATagIsReadAsCachesReadIt(t *testing.T) {
	for query, want := range map[string]string{
		"id=x&tag=NET%207": "NET 7", "id=x&TAG=NET+7": "NET 7", "tag=a&tag=b": "a",
		"id=x&%74ag=NET%207": "", "tag&tag=a": "a", "id=x&tag%3Da": "",
	} {
		if got := parameter(query, "tag"); got != want {
			t.Errorf("%s: tag %q, want %q", query, got, want)
		}
	}
}

func TestAbsurdRangesAreRefused(t *testing.T) {
	e := startProvider(t)
	u := startUpstream(t, mirrored(t, e), nil)
	target := "/Download/Product/2026.10/all.zip?id=" + url.QueryEscape(followerID)
	for name, row := range map[string]struct {
		header string
		status int
		most   int
	}{
		"thousands":            {"bytes=" + strings.Repeat("0-0,", 2000) + "0-0", 416, 1 << 10},
		"overlapping":          {"bytes=0-,1-,2-,3-,4-", 200, 1 << 20},
		"beyond the end":       {"bytes=99999999999999-", 416, 1 << 10},
		"more than 64 bits":    {"bytes=0-99999999999999999999999999", 416, 1 << 10},
		"negative":             {"bytes=--1", 416, 1 << 10},
		"backwards":            {"bytes=5-1", 416, 1 << 10},
		"suffix beyond":        {"bytes=-99999999999", 206, 1 << 20},
		"another unit":         {"lines=1-2", 416, 1 << 10},
		"only commas":          {"bytes=" + strings.Repeat(",", 100), 416, 1 << 10},
		"a few parts":          {"bytes=0-0,10-11", 206, 1 << 10},
		"words":                {"bytes=a-b", 416, 1 << 10},
		"the whole, and again": {"bytes=0-,0-", 200, 1 << 20},
	} {
		status, body := rawAsk(t, u.address, target, "Range: "+row.header)
		if status != row.status || len(body) > row.most {
			t.Errorf("%s: %d with %d bytes, want %d", name, status, len(body), row.status)
		}
	}
}

func TestIDsGuessedAtSpeedAreSlowedAndHurtNobody(t *testing.T) {
	e := startProvider(t)
	u := startUpstream(t, mirrored(t, e), nil)
	var guesses sync.WaitGroup
	var mu sync.Mutex
	answered, cut := 0, 0
	begun := time.Now()
	for i := range 2 * maxWrong {
		guesses.Go(func() {
			for j := range 3 {
				res, err := tryAsk("GET", withID(u.url()+"/Manifest/latest/All_Classes", fmt.Sprintf("guess-%d-%d", i, j)))
				mu.Lock()
				switch {
				case err != nil:
					cut++
				case res.StatusCode == http.StatusUnauthorized && strings.Contains(res.text, `"type":"invalidLicense"`):
					answered++
				default:
					t.Errorf("a guess got %d %s", res.StatusCode, res.text)
				}
				mu.Unlock()
			}
		})
	}
	for range 20 {
		if got := ask(t, "GET", withID(u.url()+"/SHA256/Data/2026.10/mdAddr.dat", followerID)); got.StatusCode != 200 {
			t.Errorf("the follower meanwhile: %d %s", got.StatusCode, got.text)
		}
	}
	guesses.Wait()
	rounds := int(time.Since(begun)/wrongPause) + 1
	if answered == 0 || cut == 0 || answered > rounds*maxWrong {
		t.Errorf("%d guesses answered and %d cut in %s", answered, cut, time.Since(begun))
	}
}

func TestWithoutAnIDNothingIsTold(t *testing.T) {
	e := startProvider(t)
	u := startUpstream(t, mirrored(t, e), nil)
	for _, query := range []string{"", "?id=", "?id=" + url.QueryEscape(customerID), "?id=" + url.QueryEscape(strings.ToUpper(followerID)), "?id=" + url.QueryEscape(followerID+" ")} {
		got := ask(t, "GET", u.url()+"/ManifestReleases/All_Classes"+query)
		if got.StatusCode != 401 || !strings.Contains(got.text, `"type":"invalidLicense"`) || got.Header.Get("Connection") != "close" && !got.Close {
			t.Errorf("%q: %d %s", query, got.StatusCode, got.text)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "TRACE"} {
		if got := ask(t, method, withID(u.url()+"/Manifest/latest/All_Classes", followerID)); got.StatusCode != 405 || got.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d", method, got.StatusCode)
		}
	}
}

// 10,000 connections from one address leave its own ones and those of others usable.
func TestTenThousandConnectionsKeepNobodyOut(t *testing.T) {
	e := startProvider(t)
	u := startUpstream(t, mirrored(t, e), nil)
	const crowd = 10_000
	conns := make([]net.Conn, 0, crowd)
	defer func() {
		for _, conn := range conns {
			conn.Close()
		}
	}()
	for i := range crowd {
		conn, err := net.Dial("tcp", u.address)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		conns = append(conns, conn)
		if i%2 == 0 { // half of them send a part of a request
			_, _ = io.WriteString(conn, "GET /Manifest/latest/All_Classes?id=x HTTP/1.1\r\nHost: x\r\n") // the server may have closed it
		}
		if i%1000 == 0 {
			if got := ask(t, "GET", withID(u.url()+"/Download/Data/2026.10/mdAddr.dat", followerID)); got.text != "data" {
				t.Errorf("after %d connections: %d %s", i, got.StatusCode, got.text)
			}
		}
	}
}

func TestSlowReadersAreCutOff(t *testing.T) {
	e := startProvider(t)
	const size = 64 << 20
	e.SetManifest("big", "2026.10", bigFile(size))
	h := startHost(t, e, entry("big"))
	h.sync()
	u := startUpstream(t, h.engine.Followers.Catalog(), func(c *Config) { c.Patience = time.Second })
	slow, err := net.Dial("tcp", u.address)
	must(t, err)
	defer slow.Close()
	must(t, slow.(*net.TCPConn).SetReadBuffer(4<<10))
	target := "/Download/Data/2026.10/big?id=" + url.QueryEscape(followerID)
	_, err = fmt.Fprintf(slow, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", target)
	must(t, err)
	if _, body := rawAsk(t, u.address, target); len(body) != size {
		t.Errorf("a fast reader got %d bytes", len(body))
	}
	time.Sleep(3 * time.Second) // it reads nothing in this time
	must(t, slow.SetReadDeadline(time.Now().Add(patience)))
	if n, err := io.Copy(io.Discard, slow); n >= size || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a reader that pauses got %d bytes, %v", n, err)
	}
}
