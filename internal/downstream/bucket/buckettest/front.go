package buckettest

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Front stands before a Server, counts requests and lets a test answer some of them. The
// server behind it checks signatures as always, because the Host stays the front's.
type Front struct {
	Endpoint string

	wire http.Transport // to the server

	mu       sync.Mutex // guards what follows
	requests []Request
	answer   func(w http.ResponseWriter, r *http.Request) bool
}

// Request is a request that a Front got.
type Request struct {
	Method string
	Name   string // in the bucket, "" for a list
	Query  url.Values
	Header http.Header
}

// NewFront returns a front that passes every request on.
func NewFront(t testing.TB, server *Server) *Front {
	t.Helper()
	target, err := url.Parse(server.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	f := &Front{}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
		Transport:     &f.wire,
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer := f.note(r); answer == nil || !answer(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		front.Close()
		f.wire.CloseIdleConnections()
	})
	f.Endpoint = front.URL
	return f
}

func (f *Front) note(r *http.Request) func(w http.ResponseWriter, r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, Request{Method: r.Method, Name: Name(r), Query: r.URL.Query(), Header: r.Header.Clone()})
	return f.answer
}

// Name is the name in the bucket that a request is about.
func Name(r *http.Request) string {
	return strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/"+Bucket), "/")
}

// Answer lets answer see each request from now on. It answers by itself and returns true,
// or returns false, and the server answers. nil ends that.
func (f *Front) Answer(answer func(w http.ResponseWriter, r *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

// Requests returns the requests since the last call.
func (f *Front) Requests() []Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	requests := f.requests
	f.requests = nil
	return requests
}

// SlowDown answers as S3 does when it gets too many requests.
func SlowDown(w http.ResponseWriter, _ *http.Request) bool {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write([]byte(`<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`))
	return true
}
