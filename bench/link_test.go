package main

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

// echo serves connections over a link. It sends one message back and closes.
func echo(t *testing.T, over link) string {
	t.Helper()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := over.wrap(plain)
	t.Cleanup(func() { ln.Close() })
	go func() {
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
	}()
	return ln.Addr().String()
}

var message = bytes.Repeat([]byte("reference data of the provider; "), 16<<10)

func TestLinkDelaysBothDirectionsAndSetUp(t *testing.T) {
	const roundTrip = 40 * time.Millisecond
	started := time.Now()
	c, err := net.Dial("tcp", echo(t, link{roundTrip: roundTrip}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
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
	for name, over := range map[string]link{
		"delayed":            {roundTrip: 4 * time.Millisecond},
		"capped":             {rate: 4 << 20},
		"capped and delayed": {roundTrip: 4 * time.Millisecond, rate: 4 << 20},
		"no delay, no cap":   {},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", echo(t, over))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			started := time.Now()
			if _, err := c.Write(message); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(c)
			if err != nil || !bytes.Equal(got, message) {
				t.Fatalf("got %d of %d bytes: %v", len(got), len(message), err)
			}
			if over.rate == 0 {
				return
			}
			if least := time.Duration(len(message)) * time.Second / time.Duration(over.rate); time.Since(started) < least {
				t.Errorf("took %s, want at least %s", time.Since(started), least)
			}
		})
	}
}
