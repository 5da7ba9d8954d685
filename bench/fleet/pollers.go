package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
	"syncd/bench/internal/table"
)

// pollingRun is a run of one upstream with hosts that only poll, over https, each with an id, a
// state and a connection of its own.
type pollingRun struct {
	binary, work string
	hosts        int
	each         time.Duration // between two polls of a host
	lasts        time.Duration
	http2        bool
}

// polled is what a run of pollers gave.
type polled struct {
	polls         int
	seconds       float64
	cpu           float64 // of the upstream, in seconds
	connecting    float64 // seconds of CPU of the upstream for the first polls, with the handshakes
	memory, alone int64   // the highest memory of the upstream, and the memory before any host polled
	p50, p99      time.Duration
	sent          float64 // bytes of a poll, as the upstream counts answers
	http2         bool
}

// poller is a host that polls.
type poller struct {
	client   *http.Client
	url, etc string // etc is what it tells
	tag      string
	isHTTP2  bool
}

// poll polls once. The answer is whole if the ring sees something else than before.
func (p *poller) poll(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "syncd/1.0.0")
	req.Header.Set("Syncd-State", p.etc)
	if p.tag != "" {
		req.Header.Set("If-None-Match", p.tag)
	}
	res, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusNotModified {
		err = errors.Join(err, fmt.Errorf("a poll was answered with %s", res.Status))
	}
	p.tag, p.isHTTP2 = res.Header.Get("ETag"), res.ProtoMajor == 2
	return err
}

func (r pollingRun) run(ctx context.Context) (result polled, err error) {
	e, err := provider.Emulate(ctx, r.work, provider.Repeat(4, provider.MiB))
	if err != nil {
		return result, err
	}
	defer e.Close()
	ids := map[string]string{}
	for i := range r.hosts {
		ids[fmt.Sprint("host-", i)] = []string{"canary", "rest"}[min(i%10, 1)]
	}
	config := filepath.Join(r.work, "serve.yml")
	text := fmt.Sprintf("tls_server_config: {cert_file: %q, key_file: %q}\n", filepath.Join(r.work, "cert.pem"), filepath.Join(r.work, "key.pem"))
	if err := errors.Join(provider.WriteCertificates(r.work), os.WriteFile(config, []byte(text), 0o600)); err != nil {
		return result, err
	}
	up, err := newNode(r.binary, filepath.Join(r.work, "root"), source{e.URL(), provider.CustomerID}, ids, fmt.Sprintf("serve:\n  web_config: %q\n  rings: [{name: canary}, {name: rest, stop_above: \"5%%\", after: {share: \"80%%\", hosts: 3}}]\n", config))
	if err != nil {
		return result, err
	}
	if err := up.start(ctx); err != nil {
		return result, err
	}
	defer up.kill()
	ca, err := os.ReadFile(filepath.Join(r.work, "ca.pem"))
	if err != nil {
		return result, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	state, err := r.state(ctx, up)
	if err != nil {
		return result, err
	}
	all := make([]*poller, r.hosts)
	for i := range all {
		var version http.Protocols
		version.SetHTTP1(!r.http2)
		version.SetHTTP2(r.http2)
		all[i] = &poller{
			url: "https://" + up.serve + "/-/mirror/current.json?id=" + idOf(fmt.Sprint("host-", i)), etc: fmt.Sprintf("host=h%d; id=1; %s", i, state),
			client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}, Protocols: &version}, Timeout: time.Minute},
		}
		defer all[i].client.CloseIdleConnections()
	}
	return r.measure(ctx, up, all)
}

// state is what each host tells, when the upstream has data.
func (r pollingRun) state(ctx context.Context, up *node) (state string, err error) {
	dir := filepath.Join(up.dir, "data", "current", provider.Manifest)
	err = until(ctx, "the first sync of the upstream", func() bool {
		_, err := os.Stat(dir)
		conn, refused := net.Dial("tcp", up.serve)
		if refused == nil {
			conn.Close()
		}
		return err == nil && refused == nil
	})
	return "manifest=" + provider.Manifest + "; version=1.0.0; release=" + provider.Release, err
}

func (r pollingRun) measure(ctx context.Context, up *node, all []*poller) (result polled, err error) {
	result.alone = measure.HighWater(up.process.PID())
	before, err := measure.CPUOf(up.process.PID())
	if err != nil {
		return result, err
	}
	var first errgroup.Group
	first.SetLimit(32)
	for _, p := range all {
		first.Go(func() error { return p.poll(ctx) })
	}
	if err := first.Wait(); err != nil {
		return result, err
	}
	connected, err := measure.CPUOf(up.process.PID())
	if err != nil {
		return result, err
	}
	result.connecting = (connected - before).Seconds()
	sent, err := sentBytes(ctx, up.web)
	if err != nil {
		return result, err
	}
	log.Printf("pollers: %d hosts are connected", len(all))
	began := time.Now()
	took := make([][]time.Duration, len(all))
	var polling errgroup.Group
	for i, p := range all {
		polling.Go(func() error {
			next := began.Add(time.Duration(i) * r.each / time.Duration(len(all)))
			for next.Before(began.Add(r.lasts)) {
				time.Sleep(time.Until(next))
				asked := time.Now()
				if err := p.poll(ctx); err != nil {
					return err
				}
				took[i] = append(took[i], time.Since(asked))
				next = next.Add(r.each)
			}
			return nil
		})
	}
	if err := polling.Wait(); err != nil {
		return result, err
	}
	result.seconds = time.Since(began).Seconds()
	after, err := measure.CPUOf(up.process.PID())
	if err != nil {
		return result, err
	}
	answered, err := sentBytes(ctx, up.web)
	times := slices.Sorted(slices.Values(slices.Concat(took...)))
	result.polls, result.cpu, result.memory = len(times), (after - connected).Seconds(), measure.HighWater(up.process.PID())
	result.p50, result.p99 = times[len(times)/2], times[len(times)*99/100]
	result.sent, result.http2 = (answered-sent)/float64(len(times)), all[0].isHTTP2
	return result, err
}

func (r pollingRun) table(result polled) string {
	const quarter = 15 * 60 // seconds between two polls in service
	version := "HTTP/1.1"
	if result.http2 {
		version = "HTTP/2"
	}
	about := fmt.Sprintf("%d hosts that only poll one upstream over https (%s), each with an id, a state and a connection of its own: a poll each %s, %.0f polls a second. The hosts share the two cores with the upstream, which counts alone.",
		r.hosts, version, r.each, float64(result.polls)/result.seconds)
	each := result.cpu / float64(result.polls)
	return strings.TrimSpace(table.Figures(about, []table.Figure{
		table.Row("CPU of the upstream for a poll, microseconds", 1e6*each, "%.0f", 0),
		table.Row("CPU of the upstream for the first poll of a host, with the handshake, microseconds", 1e6*result.connecting/float64(r.hosts), "%.0f", 0),
		table.Row(fmt.Sprintf("CPU of the upstream if each of %d hosts polls every 15 minutes with a new connection, percent of a core", r.hosts), 100*result.connecting/quarter, "%.2f", 0),
		table.Row("highest memory of the upstream, MiB", float64(result.memory>>20), "%.0f", 0),
		table.Row("memory of the upstream for each host, KiB", float64((result.memory-result.alone)>>10)/float64(r.hosts), "%.0f", 0),
		table.Row("a poll, milliseconds, half of them within", float64(result.p50.Microseconds())/1000, "%.1f", 0),
		table.Row("a poll, milliseconds, 99 % of them within", float64(result.p99.Microseconds())/1000, "%.1f", 0),
	})) + "\n"
}
