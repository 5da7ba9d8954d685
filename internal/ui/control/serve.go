package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"syncd/internal/engine/operation"
)

// Limits for clients.
const (
	requestTimeout = 10 * time.Second // to send a request
	idleTimeout    = 10 * time.Second
	maxConnections = 64 // each takes a file descriptor
)

// Server is an open control socket.
type Server struct {
	listener net.Listener
	http     *http.Server
}

// NewServer opens the socket in the state folder of a data directory that this
// process has locked. Work that commands ask for runs under ctx, so it goes on when
// the command has ended.
func NewServer(ctx context.Context, stateDir string, t *operation.Table) (*Server, error) {
	listener, err := listen(stateDir)
	if err != nil {
		return nil, err
	}
	return &Server{
		listener: netutil.LimitListener(listener, maxConnections),
		http: &http.Server{
			Handler: newHandler(ctx, t), ReadTimeout: requestTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		},
	}, nil
}

// Serve answers requests until Stop is called; then it returns nil.
func (s *Server) Serve() error {
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("control socket: %w", err)
	}
	return nil
}

// Stop waits for running answers until ctx ends.
func (s *Server) Stop(ctx context.Context) {
	if s.http.Shutdown(ctx) != nil {
		s.http.Close()
	}
}
