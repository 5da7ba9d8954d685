//go:build linux

package httpserver

import (
	"cmp"
	"context"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"

	toolkit "github.com/prometheus/exporter-toolkit/web"
	"golang.org/x/time/rate"

	"syncd/internal/httpserver/accounts"
)

// Default limits for clients.
const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 10 * time.Second
	answerTimeout = time.Minute
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10

	maxConnections = 200
	maxRequests    = 100 // handled at once, without health checks
)

// Options are what Serve needs beside a handler.
type Options struct {
	WebConfig *WebConfig // TLS and authentication
	Hosts     []string   // names that requests may have in Host, besides addresses and localhost
	Section   string     // of the configuration, for messages: http or serve
	HostsKey  string     // the key of Hosts, for messages
	Log       *slog.Logger
	Limits    Limits
}

// Limits bound what clients can take. Zero connections and requests stand for the defaults.
type Limits struct {
	Connections int // open at once
	PerAddress  int // of them, of one address that showed no id; 0 for as many
	Requests    int // handled at once
	// LongAnswers leaves it to the handler to end a request that is slow to be answered. A
	// request must then have no body.
	LongAnswers bool
	// AnyHost lets requests have every name in Host. A handler that strangers cannot use
	// needs no check of it.
	AnyHost bool
}

// Serve answers requests on listener until ctx ends; then it returns nil. The limits on
// requests stand behind authentication, so that strangers cannot use them up.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, o Options) error {
	conns := &connections{Listener: listener, places: accounts.NewPlaces(cmp.Or(o.Limits.Connections, maxConnections), o.Limits.PerAddress)}
	users := newPasswords()
	if !o.Limits.AnyHost {
		handler = answerTo(o.Hosts, o.HostsKey, handler)
	}
	server := &http.Server{
		Handler:     users.passed(conns.working(bounded(cmp.Or(o.Limits.Requests, maxRequests), handler))),
		ConnContext: conns.remember, ErrorLog: sparseLog(o.Log), Protocols: new(http.Protocols),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout,
		WriteTimeout: answerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
	}
	if o.Limits.LongAnswers {
		server.ReadTimeout = 0 // when it passes, net/http ends the request's context, also after the request was read
	}
	// Over HTTP/2, strangers could keep hundreds of requests waiting on each connection.
	server.Protocols.SetHTTP1(true)
	// The toolkit puts the check of passwords around Handler, and then starts the server,
	// which calls BaseContext before it accepts a connection.
	direct := server.Handler
	server.BaseContext = func(net.Listener) context.Context {
		server.Handler = wellFormed(ownPages(o.WebConfig.unlessBare(direct, users.limited(server.Handler))))
		return context.Background()
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	err := serveWith(ctx, conns, server, o)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// The limits of sparseLog.
const logEvery, logBurst = 10 * time.Second, 20

// sparseLog takes the lines of net/http and drops those over a limit: strangers cause a
// line with each broken handshake, and could fill the disk.
func sparseLog(to *slog.Logger) *log.Logger {
	lines := slog.NewLogLogger(to.Handler(), slog.LevelWarn).Writer()
	return log.New(&sparseWriter{lines, rate.NewLimiter(rate.Every(logEvery), logBurst)}, "", 0)
}

type sparseWriter struct {
	to    io.Writer
	limit *rate.Limiter
}

func (w *sparseWriter) Write(line []byte) (int, error) {
	if !w.limit.Allow() {
		return len(line), nil
	}
	return w.to.Write(line)
}

func serveWith(ctx context.Context, listener net.Listener, server *http.Server, o Options) error {
	if o.WebConfig == nil {
		return server.Serve(listener)
	}
	ctx, cancel := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		o.WebConfig.watch(ctx, o.Section, o.Log)
	}()
	defer func() { cancel(); <-watched }()
	path := o.WebConfig.copyPath()
	return toolkit.Serve(listener, server, &toolkit.FlagConfig{WebConfigFile: &path}, o.Log)
}
