package transport

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// pair returns both ends of a TCP connection.
func pair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if client, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

func TestWritesAtOnceArriveWholeAndInTheirOrder(t *testing.T) {
	client, server := pair(t)
	g := newGathering(client)
	const writers, each, size = 8, 200, 500
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				message := bytes.Repeat([]byte{byte(w)}, size)
				message[0], message[1] = handshake, byte(i)
				if n, err := g.Write(message); n != size || err != nil {
					t.Errorf("%d, %v", n, err)
				}
				clear(message) // the memory is the caller's again
			}
		})
	}
	got := make([]byte, writers*each*size)
	if _, err := io.ReadFull(server, got); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	next := map[byte]byte{}
	for ; len(got) > 0; got = got[size:] {
		writer := got[2]
		if got[1] != next[writer] || !bytes.Equal(got[2:size], bytes.Repeat([]byte{writer}, size-2)) {
			t.Fatalf("message %d of writer %d is damaged, or not the next", got[1], writer)
		}
		next[writer]++
	}
}

func TestWritesWithoutTLSAreSentAtOnce(t *testing.T) {
	client, server := pair(t)
	g := newGathering(client)
	server.Close()
	client.Close()
	if _, err := g.Write([]byte("GET /")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestAFailedWriteClosesTheConnection(t *testing.T) {
	client, _ := pair(t)
	if err := client.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	g := newGathering(client)
	if _, err := g.Write([]byte{handshake}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("reading: %v", err)
	}
	if _, err := g.Write([]byte{1}); err == nil {
		t.Error("the next write returned no error")
	}
}

func TestWritesWaitForAServerThatDoesNotReadAndCloseDoesNot(t *testing.T) {
	client, _ := pair(t)
	g := newGathering(client)
	failed := make(chan error)
	go func() {
		message := make([]byte, 16<<10)
		message[0] = handshake
		for {
			if _, err := g.Write(message); err != nil {
				failed <- err
				return
			}
		}
	}()
	for isFull := false; !isFull; time.Sleep(time.Millisecond) {
		g.mu.Lock()
		isFull = g.calling && len(g.waiting) == maxGathered
		g.mu.Unlock()
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, net.ErrClosed) {
		t.Errorf("the waiting write got %v", err)
	}
}
