package emulator

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"

	"syncd/internal/emulator/catalogue"
	"syncd/internal/emulator/contribution"
	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/releases"
)

// The names of the services in the request log and in faults.
const (
	HostRelease      = "release"
	HostDownload     = "download"
	HostContribution = "contribution"
	HostList         = "list"
	HostProperty     = "property"
	HostAutocomplete = "autocomplete"
	HostReverseGeo   = "reversegeo"
)

// hosts are all names, in the order of messages.
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
	// Prefix is the vendor's word in names such as {Prefix}AddressKey; default
	// "Provider".
	Prefix string
	// Root is a directory that holds <manifest>/<release>/files, and products in
	// Product/<release>/. Each request reads it. "" starts without manifests.
	Root string
	// Listen is the address of the release service, default "127.0.0.1:0".
	Listen string
	// ListenDownload is the address of the download host, default "127.0.0.1:0".
	ListenDownload string
	// TLS makes both listeners use TLS. It needs a certificate.
	TLS *tls.Config
	// Behind is the base address of another release service, which answers in place of this
	// one where it can. Tests of a client run against that service by it. "" for none.
	Behind string
	// Wrap replaces both listeners by its result, when it is set. A test can
	// slow down all connections with it.
	Wrap func(net.Listener) net.Listener
}

// Emulator is a running provider. Its methods are safe for concurrent use.
type Emulator struct {
	cfg      Config
	release  *listener
	download *listener

	*catalogue.Catalogue // manifests and files, which a test changes
	requestLog
	faultList
	world         *gazetteer.World
	contributions contribution.Queue
	etags         atomic.Int64 // the number of the last ETag of KindChangeETag

	// ctx ends delays and stalls at Close. Close waits for active: the accept
	// loops, connections and handlers.
	ctx    context.Context
	cancel context.CancelFunc
	active sync.WaitGroup
	once   sync.Once
}

// Start listens on both addresses and serves. The caller ends it with Close.
func Start(cfg Config) (*Emulator, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	e := &Emulator{cfg: cfg, Catalogue: catalogue.New(cfg.Root), world: gazetteer.New()}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	if err := e.listenAll(); err != nil {
		e.cancel()
		return nil, err
	}
	provider := releases.New(releases.Config{
		Catalogue: e.Catalogue, CustomerID: cfg.CustomerID, IDParam: cfg.IDParam,
		URL: e.release.urlFor, DownloadURL: e.download.urlFor,
	})
	other := behind{cfg.Behind, e.release.urlFor}
	e.serve(e.release, admin{e}.before(e.withServices(e.observe(HostRelease, other.before(provider)))))
	e.serve(e.download, e.observe(HostDownload, http.HandlerFunc(provider.ServeDownload)))
	return e, nil
}

func (c Config) withDefaults() Config {
	c.IDParam = cmp.Or(c.IDParam, "id")
	c.Prefix = cmp.Or(c.Prefix, "Provider")
	c.Listen = cmp.Or(c.Listen, "127.0.0.1:0")
	c.ListenDownload = cmp.Or(c.ListenDownload, "127.0.0.1:0")
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

// Close closes the listeners and all connections, ends delays and stalls, and
// waits for the emulator's goroutines. Calling it again does nothing.
func (e *Emulator) Close() error {
	var err error
	e.once.Do(func() {
		e.cancel() // track needs this before the servers close
		err = errors.Join(e.release.srv.Close(), e.download.srv.Close())
		e.active.Wait()
	})
	return err
}

// URL returns the base address of the release service, without a slash at its
// end. For a listener on all addresses it names 127.0.0.1.
func (e *Emulator) URL() string { return e.release.url("127.0.0.1") }

// DownloadURL returns the base address of the download host, like URL.
func (e *Emulator) DownloadURL() string { return e.download.url("127.0.0.1") }
