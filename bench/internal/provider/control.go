package provider

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"syncd/bench/internal/measure"
)

const endTimeout = 10 * time.Second

func (n *nginx) URL() string    { return n.url }
func (n *nginx) CAFile() string { return n.caFile }
func (n *nginx) Files() []File  { return n.files }

func (n *nginx) Forget() error { return os.Truncate(filepath.Join(n.dir, "requests"), 0) }

// Sent waits until no client is connected: nginx logs a request when it has ended, which
// may be after the client has.
func (n *nginx) Sent(ctx context.Context) (total int64, err error) {
	err = measure.WaitFor(ctx, "the end of all connections to nginx", func() (bool, error) {
		active, err := n.connections(ctx)
		return active <= 1, err // 1 is the connection of this request
	})
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join(n.dir, "requests"))
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var sent int64
		var path string
		if _, err := fmt.Sscan(lines.Text(), &sent, &path); err != nil {
			return 0, fmt.Errorf("log line %q: %w", lines.Text(), err)
		}
		if strings.HasPrefix(path, "/files/") {
			total += sent
		}
	}
	return total, nil
}

// Close ends nginx and the proxy.
func (n *nginx) Close() error {
	if n.proxy != nil {
		n.proxy.Close()
	}
	if n.cmd == nil {
		return nil
	}
	// The master ends and reaps its worker. Only if that takes too long, both are killed.
	group := -n.cmd.Process.Pid
	kill := time.AfterFunc(endTimeout, func() { _ = syscall.Kill(group, syscall.SIGKILL) })
	defer kill.Stop()
	_ = n.cmd.Process.Signal(syscall.SIGTERM) // an error means that nginx has ended
	return n.cmd.Wait()
}

// wait returns when nginx answers.
func (n *nginx) wait(ctx context.Context) error {
	if _, err := n.connections(ctx); err != nil {
		reason, _ := os.ReadFile(filepath.Join(n.dir, "error.log"))
		return fmt.Errorf("nginx does not answer: %w: %s", err, reason)
	}
	return nil
}

// connections returns the number of open connections, with the connection of its own request.
func (n *nginx) connections(ctx context.Context) (active int, err error) {
	ca, err := os.ReadFile(filepath.Join(n.dir, "ca.pem"))
	if err != nil {
		return 0, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots}}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url+"/connections", nil)
	if err != nil {
		return 0, err
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = fmt.Fscanf(res.Body, "Active connections: %d", &active)
	return active, err
}
