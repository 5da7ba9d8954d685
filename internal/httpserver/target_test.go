//go:build linux

package httpserver

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A cache in front ends the query at a raw `#`, where Go does not. So it kept the file with
// a tag under the name of the one without.
func TestTargetsThatRFC9112DoesNotAllowAreRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	routed := make(chan string, 100)
	done := make(chan error, 1)
	go func() {
		handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { routed <- r.RequestURI })
		done <- Serve(t.Context(), listener, handler, Options{Log: slog.New(slog.DiscardHandler)})
	}()
	ask := func(target string) (status int) {
		conn, err := net.Dial("tcp", listener.Addr().String())
		must(t, err)
		defer conn.Close()
		must(t, conn.SetDeadline(time.Now().Add(patience)))
		_, err = io.WriteString(conn, "GET "+target+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		must(t, err)
		line, err := bufio.NewReader(conn).ReadString('\n')
		must(t, err)
		_, err = fmt.Sscanf(line, "HTTP/1.1 %d", &status)
		must(t, err)
		return status
	}
	for _, target := range []string{
		"/", "/a/b%20c/", "//", "/~user/:@!$&'()*+,;=", "/a?id=x&y=/?:@%23", "/?", "/a;b?c;d", "http://localhost/a?b", "HTTPS://[::1]:80/a", "http://localhost", "http://localhost?a",
	} {
		if status := ask(target); status != http.StatusOK || len(routed) != 1 {
			t.Errorf("%s: %d", target, status)
		} else {
			<-routed
		}
	}
	for _, target := range []string{
		"/a?id=x&x=#&tag=NET7", "/a#b", "/#", "http://localhost/#", "http://local#host/", "/a b", "/a\tb", "/a?b\tc", "/a\x01", "/a?\x7f", "/a?\x00", "/é", "/a?é", "/a?\xff",
		"/a%", "/a?%", "/a?%zz", "/a?%2", `/a"b`, "/a?<x>", `/a\b`, `/a?\`, "/a^", "/a?`", "/{a}", "/a?b|c", "/[a]", "/a?b[]=c", "a", "?a", "a/b", "ftp:a",
		"/" + strings.Repeat("a", 100) + "\xc3",
	} {
		if status := ask(target); status != http.StatusBadRequest || len(routed) > 0 {
			t.Errorf("%q: status %d, %d requests reached the handler", target, status, len(routed))
		}
	}
}
