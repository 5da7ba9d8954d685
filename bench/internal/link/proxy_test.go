package link

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

var message = bytes.Repeat([]byte("reference data of the provider; "), 16<<10)

// dial connects over a link to a server that sends one message back and closes.
func dial(t *testing.T, over Link) net.Conn {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { ln.Close() })
	go echo(ln)
	proxy, err := over.Proxy(ln.Addr().String())
	must(t, err)
	t.Cleanup(proxy.Close)
	c, err := net.Dial("tcp", proxy.Addr())
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func echo(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			_, _ = io.CopyN(c, c, int64(len(message)))
		}()
	}
}

func TestLinkDelaysBothDirectionsAndSetUp(t *testing.T) {
	const roundTrip = 40 * time.Millisecond
	started := time.Now()
	c := dial(t, Link{RoundTrip: roundTrip})
	for i, least := range []time.Duration{2 * roundTrip, roundTrip} { // a lower bound only: a busy machine may be later
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if taken := time.Since(started); taken < least {
			t.Errorf("exchange %d took %s, want at least %s", i+1, taken, least)
		}
		started = time.Now()
	}
}

func TestLinkCarriesEveryByteWithinItsRate(t *testing.T) {
	for name, over := range map[string]Link{
		"delayed":            {RoundTrip: 4 * time.Millisecond},
		"capped":             {Rate: 4 << 20},
		"capped and delayed": {RoundTrip: 4 * time.Millisecond, Rate: 4 << 20},
		"no delay, no cap":   {},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, over)
			started := time.Now()
			if _, err := c.Write(message); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(c)
			if err != nil || !bytes.Equal(got, message) {
				t.Fatalf("got %d of %d bytes: %v", len(got), len(message), err)
			}
			if over.Rate == 0 {
				return
			}
			if least := time.Duration(len(message)) * time.Second / time.Duration(over.Rate); time.Since(started) < least {
				t.Errorf("took %s, want at least %s", time.Since(started), least)
			}
		})
	}
}

func TestProxyEndsServersConnectionWithClients(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close()
	proxy, err := Link{Rate: 1 << 20}.Proxy(ln.Addr().String())
	must(t, err)
	defer proxy.Close()
	client, err := net.Dial("tcp", proxy.Addr())
	must(t, err)
	server, err := ln.Accept()
	must(t, err)
	defer server.Close()
	client.Close()
	if n, err := server.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("read %d bytes, %v; want the end of the connection", n, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
