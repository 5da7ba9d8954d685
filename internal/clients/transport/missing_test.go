package transport

import (
	"context"
	"net"
	"net/http/httptrace"
	"testing"
	"time"
)

// A wait names the step that it waits for. The resolver is asked for real, by way of the
// hooks that net calls.
func TestAWaitNamesItsStep(t *testing.T) {
	w := newStallWatch(t.Context(), time.Hour)
	defer w.end()
	check := func(want string) {
		t.Helper()
		if got := w.missing("https://one.example"); got != want {
			t.Errorf("no %s, want %s", got, want)
		}
	}
	check("connection to https://one.example")
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		check("address of one.example from the name servers")
		return nil, context.DeadlineExceeded
	}}
	dialer := net.Dialer{Resolver: resolver}
	if conn, err := dialer.DialContext(w.ctx, "tcp", "one.example:443"); err == nil {
		conn.Close()
		t.Fatal("connected")
	}
	check("connection to https://one.example")
	w.trace.TLSHandshakeStart()
	check("TLS handshake with https://one.example")
	one, other := net.Pipe()
	defer one.Close()
	defer other.Close()
	w.trace.GotConn(httptrace.GotConnInfo{Conn: one})
	check("answer from https://one.example")
}
