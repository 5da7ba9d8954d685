package serve

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Hosts behind one address lost their link and are back. All of them connect before the
// first one asks, and none may lose its connection: that would cost it a retry.
func TestHostsBehindOneAddressKeepTheirConnections(t *testing.T) {
	const hosts = 2000
	if connectionLimit() < hosts+1 {
		t.Skip("NOT TESTED: this process may open too few files")
	}
	var lines strings.Builder
	idOf := func(i int) string { return fmt.Sprintf("host%d", i) }
	for i := range hosts {
		lines.WriteString(Identity{Name: idOf(i), sum: sha256.Sum256([]byte(idOf(i)))}.line())
	}
	path := filepath.Join(t.TempDir(), "ids")
	must(t, os.WriteFile(path, []byte(lines.String()), 0o600))
	ids, err := OpenIDs(path)
	must(t, err)
	e := startProvider(t)
	u := startUpstream(t, mirrored(t, e), func(c *Config) { c.IDs = ids })
	poll := func(conn net.Conn, i int) {
		t.Helper()
		must(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", withID("/Manifest/latest/All_Classes", idOf(i)))
		must(t, err)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("host %d: %v", i, err)
		}
		_, err = io.Copy(io.Discard, res.Body)
		if must(t, err); res.StatusCode != http.StatusOK {
			t.Fatalf("host %d: %s", i, res.Status)
		}
	}
	conns := make([]net.Conn, hosts)
	for i := range conns {
		conn, err := net.Dial("tcp", u.address)
		must(t, err)
		defer conn.Close()
		if conns[i] = conn; i == 0 { // one of them is there when the others come
			poll(conn, 0)
		}
	}
	for i, conn := range conns {
		poll(conn, i)
	}
}
