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
	"os"
	"path/filepath"
	"syscall"
	"time"

	"syncd/internal/metrics"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// ErrNotRunning says that no engine is running on the data directory, or that it
// does not listen yet.
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
type Client struct{ http *http.Client }

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

// Status returns the status of each configured manifest.
func (c *Client) Status(ctx context.Context) (status report.Status, err error) {
	err = c.query(ctx, "/status", &status)
	return status, err
}

// History returns the newest entries first.
func (c *Client) History(ctx context.Context) (history report.History, err error) {
	err = c.query(ctx, "/history", &history)
	return history, err
}

// FleetStatus shows the followers.
func (c *Client) FleetStatus(ctx context.Context) (view report.FleetStatus, err error) {
	err = c.query(ctx, "/fleet", &view)
	return view, err
}

// ServeRelease lets a release go on to later rings.
func (c *Client) ServeRelease(ctx context.Context, req request.ServeRelease) (ended []report.Stop, err error) {
	err = c.call(ctx, http.MethodPost, "/serve-release", req, &ended, nil)
	return ended, err
}

// Health is nil when the engine is alive and, with ready, serves every manifest.
func (c *Client) Health(ctx context.Context, ready bool) error {
	path := "/health"
	if ready {
		path += "?ready"
	}
	return c.query(ctx, path, &struct{}{})
}

// Sync runs a sync and calls show with its progress until it is done.
func (c *Client) Sync(ctx context.Context, req request.Sync, show func(report.Snapshot)) (result report.Sync, err error) {
	path := "/sync"
	if len(req.Locked) > 0 {
		path += "/locked"
	}
	err = c.call(ctx, http.MethodPost, path, req, &result, show)
	return result, err
}

// Rollback runs a rollback.
func (c *Client) Rollback(ctx context.Context, req request.Rollback) (result report.Sync, err error) {
	err = c.call(ctx, http.MethodPost, "/rollback", req, &result, nil)
	return result, err
}

// Activate publishes what is staged, or discards it.
func (c *Client) Activate(ctx context.Context, req request.Activate) (result report.Sync, err error) {
	err = c.call(ctx, http.MethodPost, "/activate", req, &result, nil)
	return result, err
}

// Order pins, unpins, holds or skips.
func (c *Client) Order(ctx context.Context, req request.Order) (result report.Sync, err error) {
	err = c.call(ctx, http.MethodPost, "/order", req, &result, nil)
	return result, err
}

// Publish publishes what is served to object storage.
func (c *Client) Publish(ctx context.Context, req request.Publish) (result report.Publication, err error) {
	err = c.call(ctx, http.MethodPost, "/publish", req, &result, nil)
	return result, err
}

// Forget removes what left the configuration.
func (c *Client) Forget(ctx context.Context, req request.Forget) (result report.Sync, err error) {
	err = c.call(ctx, http.MethodPost, "/forget", req, &result, nil)
	return result, err
}

// Repair runs a verification that replaces damaged files, and calls show with its
// progress.
func (c *Client) Repair(ctx context.Context, req request.Verify, show func(report.Snapshot)) (result report.Verification, err error) {
	err = c.call(ctx, http.MethodPost, "/repair", req, &result, show)
	return result, err
}

// Adopt uses the files of a folder, and calls show with its progress.
func (c *Client) Adopt(ctx context.Context, req request.Adopt, show func(report.Snapshot)) (result report.Adoption, err error) {
	err = c.call(ctx, http.MethodPost, "/adopt", req, &result, show)
	return result, err
}

// Deliveries returns the deliveries that wait, and those that were given up.
func (c *Client) Deliveries(ctx context.Context) (deliveries report.Deliveries, err error) {
	err = c.query(ctx, "/deliveries", &deliveries)
	return deliveries, err
}

// Samples returns the metrics of the engine.
func (c *Client) Samples(ctx context.Context) (samples []metrics.Sample, err error) {
	err = c.query(ctx, "/samples", &samples)
	return samples, err
}

// ChangeDeliveries tries deliveries again or drops them.
func (c *Client) ChangeDeliveries(ctx context.Context, req request.Deliveries) (left report.Deliveries, err error) {
	err = c.call(ctx, http.MethodPost, "/deliveries", req, &left, nil)
	return left, err
}

// query asks for something that needs no work.
func (c *Client) query(ctx context.Context, path string, out any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, linePatience, errSilent)
	defer cancel()
	return c.call(ctx, http.MethodGet, path, nil, out, nil)
}

func (c *Client) call(ctx context.Context, method, path string, in, out any, show func(report.Snapshot)) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := time.AfterFunc(linePatience, func() { cancel(errSilent) })
	defer patience.Stop()
	req, err := http.NewRequestWithContext(ctx, method, "http://syncd"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return c.callError(ctx, err)
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
		if json.Unmarshal(visible(lines.Bytes()), &m) != nil {
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

func (c *Client) callError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the running syncd ended before it answered: its log says why")
	}
	return fmt.Errorf("control socket: %s", report.OneLine(err.Error()))
}
