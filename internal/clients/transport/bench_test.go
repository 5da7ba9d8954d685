package transport

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
)

// cannedServer sends the same bytes for every request. It allocates nothing, so that a
// benchmark counts only the allocations of the client.
func cannedServer(b *testing.B, answer string) (base string) {
	b.Helper()
	reply := []byte(answer)
	return serveConnections(b, func(conn net.Conn) {
		for lines := bufio.NewReader(conn); ; {
			line, err := lines.ReadSlice('\n')
			if err != nil {
				return // the client closed the connection
			}
			if len(bytes.TrimSpace(line)) == 0 {
				conn.Write(reply)
			}
		}
	})
}

func canned(status int, header, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: %d\r\nDate: Thu, 01 Oct 2026 12:00:00 GMT\r\n%s\r\n%s",
		status, http.StatusText(status), len(body), header, body)
}

// BenchmarkRequest measures a small request through each function of the client.
func BenchmarkRequest(b *testing.B) {
	digest := canned(http.StatusOK, "Content-Type: application/json; charset=utf-8\r\n", `"`+string(bytes.Repeat([]byte("3f"), 32))+`"`)
	file := canned(http.StatusOK, "ETag: \"3f-1000\"\r\nContent-Type: application/octet-stream\r\nAccept-Ranges: bytes\r\n", string(make([]byte, 4<<10)))
	segments := []string{"Data", "2026.10", "small-000001.dat"}
	ask := func(c *Client) error {
		_, _, err := c.Do(context.Background(), Request{
			Endpoint: "Hash", Segments: append([]string{"SHA256"}, segments...), Limit: 4 << 10, Query: url.Values{"format": {"json"}},
		})
		return err
	}
	buffers := sync.Pool{New: func() any { return new([8 << 10]byte) }}
	open := func(c *Client) error {
		res, err := c.Open(context.Background(), Request{Endpoint: "Download", Segments: append([]string{"Download"}, segments...)})
		if err != nil {
			return err
		}
		defer res.Body.Close()
		buffer := buffers.Get().(*[8 << 10]byte)
		defer buffers.Put(buffer)
		for err == nil {
			_, err = res.Body.Read(buffer[:])
		}
		if err != io.EOF { //nolint:errorlint // a bare io.EOF ends a body
			return err
		}
		return nil
	}
	redirect := func(b *testing.B) string {
		return canned(http.StatusFound, "Location: "+cannedServer(b, file)+"/files/RGF0YS8yMDI2LjEwL3NtYWxsLTAwMDAwMS5kYXQ/small-000001.dat\r\n", "")
	}
	for _, row := range []struct {
		name   string
		answer func(b *testing.B) string
		send   func(c *Client) error
	}{
		{"answered", func(*testing.B) string { return digest }, ask},
		{"opened", func(*testing.B) string { return file }, open},
		{"redirected", redirect, open},
	} {
		b.Run(row.name, func(b *testing.B) {
			c := newClient(b, cannedServer(b, row.answer(b)), func(cfg *Config) { cfg.CustomerID, cfg.Observer = "BENCH-ID", &counter{} })
			b.Cleanup(c.Close) // before the servers, which wait for their connections
			b.ReportAllocs()
			b.SetParallelism(8)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if err := row.send(c); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
