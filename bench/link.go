package main

import (
	"net"
	"time"
)

// link slows the connections of a listener. A proxy of the kind is some sixty
// lines, and would have to rewrite redirects; the well-known one brings a dozen
// dependencies and does not charge for the set-up of a connection.
type link struct {
	roundTrip time.Duration // half of it in each direction, and once more for the set-up
	rate      int64         // bytes a second of each connection to the client, 0 for all there is
}

const (
	chunkSize = 16 << 10
	inFlight  = 512 // chunks on their way: 8 MiB, so that only the rate bounds a connection
)

// around wraps a listener. The server's ends of its connections are pipes.
func (l link) around(ln net.Listener) net.Listener { return slowListener{ln, l} }

type slowListener struct {
	net.Listener
	link link
}

func (s slowListener) Accept() (net.Conn, error) {
	client, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	server, inner := net.Pipe()
	accepted := time.Now()
	go carry(inner, client, func(at time.Time, _ int) time.Time {
		connected := accepted.Add(s.link.roundTrip) // the client believes it is already
		if at.Before(connected) {
			at = connected
		}
		return at.Add(s.link.roundTrip / 2)
	})
	var free time.Time // when the last byte has left
	go carry(client, inner, func(at time.Time, n int) time.Time {
		if free.Before(at) {
			free = at
		}
		if s.link.rate > 0 {
			free = free.Add(time.Duration(n) * time.Second / time.Duration(s.link.rate))
		}
		return free.Add(s.link.roundTrip / 2)
	})
	return server, nil
}

type chunk struct {
	data []byte
	due  time.Time
}

// carry moves bytes in one direction, each chunk when it is due, and closes to
// behind the last one. What is on its way holds up nothing that comes behind it.
func carry(to, from net.Conn, due func(at time.Time, n int) time.Time) {
	way := make(chan chunk, inFlight)
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
	for c := range way {
		time.Sleep(time.Until(c.due))
		if _, err := to.Write(c.data); err != nil {
			break
		}
	}
	to.Close()
	from.Close() // ends the reader when the writing failed
	for range way {
	}
}
