package main

import (
	"net"
	"time"
)

// link slows the connections of a listener. toxiproxy would bring a dozen dependencies,
// would need rewritten redirects, and does not delay the set-up of a connection.
type link struct {
	roundTrip time.Duration // half of it in each direction, plus one for the connection set-up
	rate      int64         // bytes per second and connection to the client; 0 means no limit
}

const (
	chunkSize = 16 << 10
	inFlight  = 512 // chunks in flight, 8 MiB: enough that only the rate limits a connection
)

// wrap returns a listener whose connections have the link's delay and rate. The server
// sees pipes.
func (l link) wrap(ln net.Listener) net.Listener { return slowListener{ln, l} }

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
		connected := accepted.Add(s.link.roundTrip) // the client is connected already; delay its first bytes
		if at.Before(connected) {
			at = connected
		}
		return at.Add(s.link.roundTrip / 2)
	})
	var free time.Time // when the last byte has been sent
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

// carry copies bytes from one connection to another, each chunk when it is due, and
// closes to after the last one. Reading goes on while chunks wait.
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
	from.Close() // stops the reader after a failed write
	for range way {
	}
}
