package control

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"syncd/internal/engine/operation"
	"syncd/internal/report"
)

// ErrNotRunning says that no engine is running on the data directory, that it does not
// listen yet, or that it ended before it took the first request of a client.
var ErrNotRunning = errors.New("no syncd is running")

// dialTimeout bounds the wait for an engine that is stuck.
const dialTimeout = 5 * time.Second

// Limits of an answer.
const (
	maxHeader    = 16 << 10
	maxLine      = 64 << 20         // bytes: the history of many manifests is long
	linePatience = 10 * time.Second // for each line; an engine sends the progress far more often
)

var errSilent = fmt.Errorf("the running syncd has not answered for %s: its log says what it does", linePatience)

// Client asks the running engine of a data directory, in another process. Its
// methods are safe for concurrent use. When ctx ends they return its cause, and
// work that has started goes on.
type Client struct {
	http    *http.Client
	isHeard atomic.Bool // an answer has begun: the engine took a request
}

// Dial connects to the running engine. It returns ErrNotRunning when there is none,
// and another error when this user may not open the socket.
func Dial(ctx context.Context, stateDir string) (*Client, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return connect(ctx, stateDir) }
	probe, err := dial(ctx, "", "")
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, dialError(stateDir, err)
	}
	probe.Close()
	return &Client{http: &http.Client{
		Transport:     &http.Transport{DialContext: dial, DisableCompression: true, MaxResponseHeaderBytes: maxHeader},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func dialError(stateDir string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return ErrNotRunning
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: permission denied: run this as root, or as the user that owns data_dir", filepath.Join(stateDir, socketName))
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return notADirectory(stateDir)
	}
	return fmt.Errorf("control socket: %w", err)
}

// notADirectory names the part of stateDir's path that is no directory.
func notADirectory(stateDir string) error {
	info, err := os.Lstat(stateDir)
	switch {
	case err != nil:
		return fmt.Errorf("data_dir %s is not a directory", filepath.Dir(stateDir))
	case info.Mode().Type() == fs.ModeSymlink:
		return fmt.Errorf("%s is a symlink, which syncd does not make: remove it", stateDir)
	}
	return fmt.Errorf("%s is not a directory: move it away", stateDir)
}

// Close closes the connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Do implements operation.Engine. A query ends once the engine has not answered for
// linePatience, whatever it sends; work, once the engine sends no line for that long.
func (c *Client) Do(ctx context.Context, op operation.Operation, req, result any, show func(report.Progress)) error {
	if !op.IsQuery {
		return c.call(ctx, http.MethodPost, op.Path, req, result, show)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, linePatience, errSilent)
	defer cancel()
	return c.call(ctx, http.MethodGet, op.Path, nil, result, nil)
}

func (c *Client) call(ctx context.Context, method, path string, in, out any, show func(report.Progress)) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := time.AfterFunc(linePatience, func() { cancel(errSilent) })
	defer patience.Stop()
	isConnected := false
	trace := &httptrace.ClientTrace{
		GotConn:              func(httptrace.GotConnInfo) { isConnected = true },
		GotFirstResponseByte: func() { c.isHeard.Store(true) },
	}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), method, "http://syncd"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return c.refusal(ctx, err, isConnected)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("control socket: status %d: is the running syncd of the same version?", res.StatusCode)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxLine)
	for {
		var m message
		if !lines.Scan() {
			return c.callError(ctx, cmp.Or(lines.Err(), io.EOF))
		}
		patience.Reset(linePatience)
		if err := checkEntries(lines.Bytes()); err != nil {
			return c.callError(ctx, err)
		}
		if json.Unmarshal(report.VisibleJSON(lines.Bytes()), &m) != nil {
			return c.callError(ctx, io.ErrUnexpectedEOF)
		}
		switch {
		case m.Error != nil:
			return m.Error.err()
		case m.Result != nil:
			return json.Unmarshal(m.Result, out)
		case m.Progress != nil && show != nil:
			show(*m.Progress)
		}
	}
}

// refusal is the error of a request that got no answer. The engine begins an answer before
// it does work, so such work was not begun: another engine may do it.
func (c *Client) refusal(ctx context.Context, err error, isConnected bool) error {
	isGone := isConnected || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
	if ctx.Err() == nil && !c.isHeard.Load() && isGone {
		return ErrNotRunning
	}
	return c.callError(ctx, err)
}

func (c *Client) callError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the running syncd ended before it answered: its log says why")
	}
	return fmt.Errorf("control socket: %s", report.OneLine(err.Error()))
}
