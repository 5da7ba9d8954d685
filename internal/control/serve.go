package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// headerTimeout bounds the wait for the header of a request.
const headerTimeout = 5 * time.Second

// Server is an open control socket.
type Server struct {
	listener net.Listener
	http     *http.Server
}

// NewServer opens the socket in the state folder of a data directory that this
// process has locked. Work that commands ask for runs under ctx, so it goes on when
// the command has ended.
func NewServer(ctx context.Context, stateDir string, e Engine) (*Server, error) {
	listener, err := listen(stateDir)
	if err != nil {
		return nil, err
	}
	return &Server{listener: listener, http: &http.Server{Handler: newHandler(ctx, e), ReadHeaderTimeout: headerTimeout}}, nil
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
