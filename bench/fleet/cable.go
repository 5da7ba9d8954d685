package main

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// cable is the link from an upstream to a region. It counts what comes down, and can be cut.
type cable struct {
	to       string
	listener net.Listener
	bytes    atomic.Int64 // to the region
	active   sync.WaitGroup

	mu    sync.Mutex
	isCut bool
	open  map[net.Conn]bool
}

// newCable lays a cable to an address.
func newCable(to string) (*cable, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &cable{to: to, listener: listener, open: map[net.Conn]bool{}}
	c.active.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			c.active.Go(func() { c.carry(conn) })
		}
	})
	return c, nil
}

// cut drops all connections, and each one that comes, until it is false.
func (c *cable) cut(isCut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = isCut
	for conn := range c.open {
		conn.Close()
	}
}

// close ends the cable.
func (c *cable) close() {
	c.listener.Close()
	c.cut(true)
	c.active.Wait()
}

// holds registers a connection that a cut must end.
func (c *cable) holds(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isCut {
		conn.Close()
		return false
	}
	c.open[conn] = true
	return true
}

func (c *cable) drop(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
	conn.Close()
}

func (c *cable) carry(down net.Conn) {
	if !c.holds(down) {
		return
	}
	defer c.drop(down)
	up, err := net.Dial("tcp", c.to)
	if err != nil || !c.holds(up) {
		return
	}
	defer c.drop(up)
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(up, down) // ends with either side
		up.Close()
	})
	both.Go(func() {
		_, _ = io.Copy(counted{down, &c.bytes}, up)
		down.Close()
	})
	both.Wait()
}

// counted counts what is written.
type counted struct {
	to    io.Writer
	bytes *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.bytes.Add(int64(n))
	return n, err
}
