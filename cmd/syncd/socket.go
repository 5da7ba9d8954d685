package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"syncd/internal/config"
	"syncd/internal/control"
)

// controlGrace is how long a stopping daemon waits for running answers.
const controlGrace = time.Second

// headerTimeout bounds the wait for the header of a request.
const headerTimeout = 5 * time.Second

// serveControl opens the control socket for as long as the group runs.
func serveControl(ctx context.Context, group *errgroup.Group, cfg *config.Config, e control.Engine) error {
	socket, err := openSocket(ctx, cfg, e)
	if err != nil {
		return err
	}
	group.Go(socket.serve)
	group.Go(func() error {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), controlGrace)
		defer cancel()
		socket.stop(grace)
		return nil
	})
	return nil
}

// socket is the open control socket.
type socket struct {
	listener net.Listener
	server   *http.Server
}

// openSocket listens. Work that commands ask for runs under ctx.
func openSocket(ctx context.Context, cfg *config.Config, e control.Engine) (*socket, error) {
	listener, err := control.Listen(stateDir(cfg))
	if err != nil {
		return nil, err
	}
	return &socket{listener: listener, server: &http.Server{Handler: control.Handler(ctx, e), ReadHeaderTimeout: headerTimeout}}, nil
}

// serve answers requests until stop is called.
func (s *socket) serve() error {
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("control socket: %w", err)
	}
	return nil
}

// stop waits for running answers until ctx ends.
func (s *socket) stop(ctx context.Context) {
	if s.server.Shutdown(ctx) != nil {
		s.server.Close()
	}
}
