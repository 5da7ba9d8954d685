package web

import (
	"context"
	"log/slog"
	"net"
	"net/http"

	toolkit "github.com/prometheus/exporter-toolkit/web"
)

// Options are what Serve needs beside a handler.
type Options struct {
	Config *Config  // TLS and authentication
	Hosts  []string // names that requests may have in Host, besides addresses and localhost
	Log    *slog.Logger
}

// Serve answers requests on listener until ctx ends; then it returns nil. The limits on
// requests stand behind authentication, so that strangers cannot use them up.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, o Options) error {
	conns := &connections{Listener: listener, most: maxConnections}
	server := &http.Server{
		Handler:     conns.working(bounded(maxRequests, answerTo(o.Hosts, handler))),
		ConnContext: conns.remember, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout,
		WriteTimeout: answerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	err := serveWith(ctx, conns, server, o)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func serveWith(ctx context.Context, listener net.Listener, server *http.Server, o Options) error {
	if o.Config == nil {
		return server.Serve(listener)
	}
	ctx, cancel := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		o.Config.watch(ctx, o.Log)
	}()
	defer func() { cancel(); <-watched }()
	path := o.Config.copyPath()
	return toolkit.Serve(listener, server, &toolkit.FlagConfig{WebConfigFile: &path}, o.Log)
}
