package engine

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"syncd/internal/engine/operation"
	"syncd/internal/report/request"
)

func TestReplacedConfigurationKeepsNoConnections(t *testing.T) {
	w := start(t, "one")
	arrived, proceed := make(chan struct{}), make(chan struct{})
	proxy, transport := httputil.NewSingleHostReverseProxy(w.cfg.Source.URL), &http.Transport{}
	proxy.Transport = transport
	defer transport.CloseIdleConnections()
	wait := sync.OnceFunc(func() {
		close(arrived)
		<-proceed
	})
	gate := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		wait()
		proxy.ServeHTTP(rw, r)
	}))
	var open atomic.Int64
	gate.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	gate.Start()
	defer gate.Close()
	var err error
	w.cfg.Source.URL, err = url.Parse(gate.URL)
	must(t, err)
	e := w.open()
	defer func() { must(t, e.Close()) }()

	done := make(chan error)
	go func() {
		_, err := operation.Sync.Do(context.Background(), e.Operations(), request.Sync{})
		done <- err
	}()
	<-arrived
	must(t, e.Configure(w.cfg))
	close(proceed)
	must(t, <-done)
	for deadline := time.Now().Add(time.Minute); open.Load() > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections of the replaced configuration stay open", open.Load())
		}
	}
}
