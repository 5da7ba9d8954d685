package emulator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// listener is one address that the emulator serves.
type listener struct {
	scheme string
	ln     net.Listener
	fixed  string // its URL, "" when it listens on all addresses
	srv    *http.Server
}

func (e *Emulator) listenAll() error {
	var err error
	if e.release, err = e.listen(e.cfg.Listen); err != nil {
		return err
	}
	if e.download, err = e.listen(e.cfg.ListenDownload); err != nil {
		return errors.Join(err, e.release.ln.Close())
	}
	return nil
}

func (e *Emulator) listen(address string) (*listener, error) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("emulator: %w: name another address", err)
	}
	if e.cfg.Wrap != nil {
		ln = e.cfg.Wrap(ln)
	}
	l := &listener{scheme: "http", ln: ln}
	if e.cfg.TLS != nil {
		l.scheme = "https"
	}
	if addr, ok := ln.Addr().(*net.TCPAddr); !ok || !addr.IP.IsUnspecified() {
		l.fixed = l.scheme + "://" + ln.Addr().String()
	}
	return l, nil
}

// url returns the base address. wildcard is the host of a listener on all
// addresses.
func (l *listener) url(wildcard string) string {
	if l.fixed != "" {
		return l.fixed
	}
	_, port, _ := net.SplitHostPort(l.ln.Addr().String()) // a TCP address always has a port
	return l.scheme + "://" + net.JoinHostPort(wildcard, port)
}

// urlFor returns the base address as the sender of r reaches it.
func (l *listener) urlFor(r *http.Request) string {
	if l.fixed != "" {
		return l.fixed
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	return l.url(host)
}

func (e *Emulator) serve(l *listener, h http.Handler) {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // KindReset and KindTruncate need one connection per request
	l.srv = &http.Server{
		Handler:           h,
		Protocols:         protocols,
		TLSConfig:         e.cfg.TLS.Clone(),
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0), // faults cause errors here on purpose
		BaseContext:       func(net.Listener) context.Context { return e.ctx },
		ConnState:         e.track,
	}
	e.active.Go(func() {
		if e.cfg.TLS != nil {
			_ = l.srv.ServeTLS(l.ln, "", "") // always ErrServerClosed after Close
			return
		}
		_ = l.srv.Serve(l.ln)
	})
}

// track counts connections for Close. http.Server.Close can miss a connection that
// is accepted while it runs. Close cancels ctx first, so that track closes such a
// connection.
func (e *Emulator) track(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		e.active.Add(1)
		if e.ctx.Err() != nil {
			_ = c.Close()
		}
	case http.StateHijacked, http.StateClosed:
		e.active.Done()
	}
}
