package main

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
)

// node is a host of a fleet: a daemon that can be killed and started again at its addresses.
type node struct {
	binary, dir string
	web, serve  string // addresses; serve is "" for a host that serves nobody
	process     *measure.Process
}

// source is where a node takes its data from, and the id that it shows there.
type source struct{ url, id string }

// upstreamOf is a node as the source of others.
func upstreamOf(address, name string) source { return source{"http://" + address, idOf(name)} }

// idOf is an id that is made of a name, in the form of those of `syncd serve-id add`.
func idOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:20]))
}

var addresses atomic.Int32 // that were given out

// freeAddress is an address that no other process takes: each has an IP address of loopback for
// itself.
func freeAddress() (string, error) {
	n := addresses.Add(1)
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+os.Getpid()%200, n/250, 1+n%250))
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// newNode configures a host. rings are the ring of each id that may follow it, by its name; nil
// for a host that serves nobody.
func newNode(binary, dir string, from source, rings map[string]string, more string) (*node, error) {
	n := &node{binary: binary, dir: dir}
	var err error
	if n.web, err = freeAddress(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("source: {url: %q, customer_id: %q}\ndata_dir: %q\nhttp: {listen: %q}\nmanifests: [{name: %s}]\n%s", from.url, from.id, filepath.Join(dir, "data"), n.web, provider.Manifest, more)
	if rings != nil {
		if n.serve, err = freeAddress(); err != nil {
			return nil, err
		}
		text = strings.Replace(text, "serve:\n", fmt.Sprintf("serve:\n  listen: %s\n  public_url: http://%s\n  ids_file: ids\n", n.serve, n.serve), 1)
		var ids strings.Builder
		for name, ring := range rings {
			fmt.Fprintf(&ids, "%x %s %s\n", sha256.Sum256([]byte(idOf(name))), name, ring)
		}
		if err := os.WriteFile(filepath.Join(dir, "ids"), []byte(ids.String()), 0o600); err != nil {
			return nil, err
		}
	}
	return n, os.WriteFile(filepath.Join(dir, "syncd.yaml"), []byte(text), 0o600)
}

// start starts the daemon.
func (n *node) start(ctx context.Context) error {
	out, err := os.OpenFile(filepath.Join(n.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command(n.binary, "--config", filepath.Join(n.dir, "syncd.yaml"), "run")
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET=")
	cmd.Stdout, cmd.Stderr = out, out
	n.process, err = measure.Start(ctx, cmd)
	return err
}

// kill ends the daemon like a power cut.
func (n *node) kill() {
	if n.process != nil {
		n.process.Kill()
		_, _ = n.process.Wait() // killed
		n.process = nil
	}
}

// release is the release that the host serves, "" for none.
func (n *node) release() string {
	text, _ := os.ReadFile(filepath.Join(n.dir, "data", "current", provider.Manifest, releaseFile)) // none yet
	return string(text)
}

// get asks the web server of the host.
func (n *node) get(ctx context.Context, path string) ([]byte, error) {
	return get(ctx, "http://"+n.web+path)
}

func get(ctx context.Context, url string) ([]byte, error) {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %s", res.Status)
	}
	return text, err
}

// stops is true when the host stopped a release.
func (n *node) stops(ctx context.Context, release string) bool {
	text, err := n.get(ctx, "/api/v1/fleet?limit=1")
	var fleet struct{ Stopped []struct{ Release string } }
	if err != nil || json.Unmarshal(text, &fleet) != nil {
		return false
	}
	for _, s := range fleet.Stopped {
		if s.Release == release {
			return true
		}
	}
	return false
}

// shows is true when an id finds a release in the list of the host.
func (n *node) shows(ctx context.Context, id, release string) bool {
	text, err := get(ctx, "http://"+n.serve+"/ManifestReleases/"+provider.Manifest+"?id="+id)
	return err == nil && strings.Contains(string(text), release)
}

// until waits for a condition.
func until(ctx context.Context, about string, isTrue func() bool) error {
	for !isTrue() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", about, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}
