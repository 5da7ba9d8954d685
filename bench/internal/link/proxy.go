package link

import (
	"net"
	"sync"
	"time"
)

// A fast link holds enough chunks that only the delay limits a connection. A capped one
// holds little more than a round trip of them: the server counts as sent what is on the
// way when a client gives up.
const (
	chunkSize      = 16 << 10
	inFlight       = 512
	inFlightCapped = 64
	bufferCapped   = 256 << 10 // of the socket to the server
)

// Proxy carries connections to a server over a slow link.
type Proxy struct {
	link     Link
	to       string
	listener net.Listener
	active   sync.WaitGroup

	mu     sync.Mutex
	open   map[net.Conn]bool
	closed bool
}

// Proxy starts a proxy on loopback for the server at an address.
func (l Link) Proxy(to string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{link: l, to: to, listener: listener, open: map[net.Conn]bool{}}
	p.active.Go(p.accept)
	return p, nil
}

// Addr returns the address of the proxy.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close ends all connections and waits for the proxy's goroutines.
func (p *Proxy) Close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for c := range p.open {
		c.Close()
	}
	p.mu.Unlock()
	p.active.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.active.Go(func() { p.carryBoth(client, time.Now()) })
	}
}

// own registers a connection that Close must end. It returns false after Close.
func (p *Proxy) own(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.Close()
		return false
	}
	p.open[c] = true
	return true
}

// end closes a connection of the proxy.
func (p *Proxy) end(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
	c.Close()
}

func (p *Proxy) carryBoth(client net.Conn, accepted time.Time) {
	if !p.own(client) {
		return
	}
	defer p.end(client)
	server, err := net.Dial("tcp", p.to)
	if err != nil || !p.own(server) {
		return
	}
	defer p.end(server)
	held := inFlight
	if p.link.Rate > 0 {
		held = inFlightCapped
		_ = server.(*net.TCPConn).SetReadBuffer(bufferCapped) // only the count of sent bytes depends on it
	}
	var both sync.WaitGroup
	both.Go(func() {
		// A server that closed early may still have bytes on the way to the client.
		// So a failed write ends nothing: the rest of the client's bytes is dropped.
		carry(server, client, p.link.upward(accepted), held)
		server.Close()
	})
	both.Go(func() {
		carry(client, server, p.link.downward(), held)
		client.Close()
	})
	both.Wait()
}

type chunk struct {
	data []byte
	due  time.Time
}

// carry copies bytes from one connection to another, each chunk when it is due. Reading
// goes on while fewer chunks wait than held.
func carry(to, from net.Conn, due func(at time.Time, n int) time.Time, held int) {
	way := make(chan chunk, held)
	go func() {
		defer close(way)
		for {
			data := make([]byte, chunkSize)
			n, err := from.Read(data)
			if n > 0 {
				way <- chunk{data[:n], due(time.Now(), n)}
			}
			if err != nil {
				return
			}
		}
	}()
	broken := false
	for c := range way {
		if broken {
			continue
		}
		time.Sleep(time.Until(c.due))
		_, err := to.Write(c.data)
		broken = err != nil
	}
}
