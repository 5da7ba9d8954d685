// Package emulator plays the provider over real TCP, wire-exact, with faults on
// demand and a log of everything that arrived. The file release service and its
// download host have a listener each; contribution, list retrieval, property,
// address auto-complete and reverse geocoding answer beside the release
// service, from one invented world, so that what one tells another finds.
//
// It serves tests, benchmarks and the commands emulator and demo. What it
// promises: a change of the catalogue or of the faults takes effect for the
// next request; nothing is hashed while a file is served; Close leaves no
// goroutine behind. What it does not: it is no access control (the
// administration under /-/ asks for no Customer ID), so it belongs on loopback.
//
// A further service is an entry of services, or one more listener made by
// listen. Either is served through observe, which gives it the same request log
// and the same faults.
package emulator

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"syncd/internal/emulator/catalogue"
	"syncd/internal/emulator/contribution"
	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/releases"
	"syncd/internal/emulator/service"
	"syncd/internal/emulator/wire"
)

// The names by which requests and faults tell the services apart.
const (
	HostRelease      = "release"
	HostDownload     = "download"
	HostContribution = "contribution"
	HostList         = "list"
	HostProperty     = "property"
	HostAutocomplete = "autocomplete"
	HostReverseGeo   = "reversegeo"
)

// hosts are the names in the order of messages.
var hosts = []string{
	HostRelease, HostDownload,
	HostContribution, HostList, HostProperty, HostAutocomplete, HostReverseGeo,
}

// Config says what an Emulator serves and where.
type Config struct {
	// CustomerID is the only id accepted; "" accepts any that is not empty.
	CustomerID string
	// IDParam is the query parameter that carries the id to the release
	// service, matched without case; default "id".
	IDParam string
	// Prefix is the vendor's word in the names of keys, as {Prefix}AddressKey;
	// default "Provider".
	Prefix string
	// Root is a directory that holds <manifest>/<release>/files…, read anew for
	// each request; "" starts with an empty catalogue.
	Root string
	// Listen is the address of the release service, default "127.0.0.1:0".
	Listen string
	// ListenDownload is the address of the download host, default "127.0.0.1:0".
	ListenDownload string
	// TLS makes both listeners speak TLS; it needs a certificate.
	TLS *tls.Config
	// Wrap, if set, is put around both listeners, so that all connections,
	// those of redirects too, lead through what it returns.
	Wrap func(net.Listener) net.Listener
}

// Emulator is a running provider. All its methods are safe for concurrent use.
type Emulator struct {
	cfg      Config
	release  *listener
	download *listener

	catalogue     *catalogue.Catalogue
	world         *gazetteer.World
	contributions contribution.Queue
	log           requestLog
	faults        faultList
	etags         atomic.Int64 // numbers the ETags of change_etag

	// ctx ends delays and stalls at Close; active counts the accept loops,
	// connections and handlers that Close waits for.
	ctx    context.Context
	cancel context.CancelFunc
	active sync.WaitGroup
	once   sync.Once
}

// Start listens on both addresses and serves at once. The caller ends it with
// Close.
func Start(cfg Config) (*Emulator, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	e := &Emulator{cfg: cfg, catalogue: catalogue.New(cfg.Root), world: gazetteer.New()}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	if err := e.listenAll(); err != nil {
		e.cancel()
		return nil, err
	}
	provider := releases.New(releases.Config{
		Catalogue: e.catalogue, CustomerID: cfg.CustomerID, IDParam: cfg.IDParam,
		URL: e.release.urlFor, DownloadURL: e.download.urlFor,
	})
	e.serve(e.release, e.withAdmin(e.withServices(e.observe(HostRelease, provider))))
	e.serve(e.download, e.observe(HostDownload, http.HandlerFunc(provider.ServeDownload)))
	return e, nil
}

func (c Config) withDefaults() Config {
	if c.IDParam == "" {
		c.IDParam = "id"
	}
	if c.Prefix == "" {
		c.Prefix = "Provider"
	}
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	if c.ListenDownload == "" {
		c.ListenDownload = "127.0.0.1:0"
	}
	return c
}

func (c Config) check() error {
	if t := c.TLS; t != nil && len(t.Certificates) == 0 && t.GetCertificate == nil && t.GetConfigForClient == nil {
		return errors.New("emulator: the TLS configuration has no certificate")
	}
	if c.Root == "" {
		return nil
	}
	info, err := os.Stat(c.Root)
	if err != nil {
		return fmt.Errorf("emulator: root: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("emulator: root %s is not a directory", c.Root)
	}
	return nil
}

// Close ends the listeners, every connection, delay and stall, and returns when
// the last goroutine of the emulator has gone. Calling it again does nothing.
func (e *Emulator) Close() error {
	var err error
	e.once.Do(func() {
		e.cancel() // before the servers, see track
		err = errors.Join(e.release.srv.Close(), e.download.srv.Close())
		e.active.Wait()
	})
	return err
}

// URL returns the base address of the release service, with no slash at its
// end. A listener on all addresses is named by its loopback one.
func (e *Emulator) URL() string { return e.release.url("127.0.0.1") }

// DownloadURL returns the base address of the download host, like URL.
func (e *Emulator) DownloadURL() string { return e.download.url("127.0.0.1") }

// listener is one address that the emulator answers on.
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
		return nil, fmt.Errorf("emulator: %w", err)
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

// url names the listener; one that listens on every address is reached by the
// name that the caller used.
func (l *listener) url(wildcard string) string {
	if l.fixed != "" {
		return l.fixed
	}
	_, port, _ := net.SplitHostPort(l.ln.Addr().String()) // it listens there
	return l.scheme + "://" + net.JoinHostPort(wildcard, port)
}

// urlFor is url as the sender of r reaches it.
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
	protocols.SetHTTP1(true) // resets and truncation need the connection itself
	l.srv = &http.Server{
		Handler:           h,
		Protocols:         protocols,
		TLSConfig:         e.cfg.TLS.Clone(),
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0), // faults make it complain by design
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

// track counts connections for Close. A connection accepted while Close runs
// may be missed by http.Server.Close; it is closed here, since ctx is cancelled
// before.
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

// observe records each request of a host and applies the fault that is due.
func (e *Emulator) observe(host string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A hijacked connection is no longer counted by track; its handler is.
		e.active.Add(1)
		defer e.active.Done()
		body := readBody(r)
		rec := &recorder{ResponseWriter: w, entry: e.log.begin(host, r, body), head: r.Method == http.MethodHead}
		if f, ok := e.faults.pick(host, r); ok {
			e.inject(f, e.caller(r, body), rec, r, next)
			return
		}
		next.ServeHTTP(rec, r)
	})
}

// caller returns the Customer ID that a request brings, valid or not, for faults
// that echo it.
func (e *Emulator) caller(r *http.Request, body []byte) string {
	query := r.URL.Query()
	return cmp.Or(wire.Parameter(query, e.cfg.IDParam), wire.Parameter(query, "id"), service.CustomerIDOf(body))
}
