package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"syncd/bench/internal/contender"
	"syncd/bench/internal/daemon"
	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
	"syncd/bench/internal/table"
)

// Rates of the part that measures the sync of the daemon beside its followers.
const (
	syncRate          = "50MiB"  // of the daemon's own sync: the provider's link is what limits it in service
	followersRate     = "200MiB" // of all downloads together
	followersRequests = 2000     // a second
)

// askerID is any id: without serve.ids_file, loopback may ask.
const askerID = "?id=follower"

var errNoTool = errors.New("missing tools")

// measureServe compares the server for followers with nginx that serves the same files,
// both over plain HTTP, then both over https. Clients, and for the last part the provider, share the two cores.
func measureServe(ctx context.Context, b bench) (string, error) {
	if missing := (contender.Contender{Needs: []string{"curl", "wrk"}}).Missing(); missing != nil {
		return "", fmt.Errorf("%w: %s", errNoTool, strings.Join(missing, ", "))
	}
	e, err := provider.Emulate(ctx, b.work, provider.Repeat(4, b.smaller(256*provider.MiB)))
	if err != nil {
		return "", err
	}
	defer e.Close()
	up, err := b.startUpstream(ctx, e, "", "")
	if err != nil {
		return "", err
	}
	figures, err := b.serveFigures(ctx, up)
	if _, ended := up.End(); err != nil || ended != nil {
		return "", errors.Join(err, ended)
	}
	secure, err := b.serveOverTLS(ctx, e)
	if err != nil {
		return "", err
	}
	figures = append(figures, secure...)
	beside, err := b.syncBesideFollowers(ctx)
	if err != nil {
		return "", err
	}
	figures = append(figures, table.Row("seconds of the daemon's own sync, "+followersRate+"/s and 2,000 requests/s of followers beside it, relative to without", beside, "%.2f", 1.1))
	return table.Figures("`serve` with four files of 256 MiB beside nginx with the same files, four downloads at once. Over https: HTTP/1.1, TLS 1.3, AES-128-GCM, for both.", figures), nil
}

// upstream is a daemon that serves followers.
type upstream struct {
	*daemon.Daemon
	url string
}

// startUpstream starts a daemon that mirrors p and returns when its first sync is done.
func (b bench) startUpstream(ctx context.Context, p provider.Provider, serve, more string) (upstream, error) {
	d, err := daemon.Start(ctx, b.binary, b.work, p, fmt.Sprintf("http: {listen: \"127.0.0.1:0\"}\nserve: {listen: \"127.0.0.1:0\", public_url: \"http://localhost\"%s}\nmanifests: [{name: %s}]\n%s", serve, provider.Manifest, more))
	if err != nil {
		return upstream{}, err
	}
	up := upstream{Daemon: d}
	e, err := d.Next("serving followers")
	if err == nil {
		up.url = "http://" + e.Address
		_, err = d.FirstSync()
	}
	if err != nil {
		_, ended := d.End()
		return upstream{}, errors.Join(err, ended)
	}
	return up, nil
}

func (b bench) serveFigures(ctx context.Context, up upstream) ([]table.Figure, error) {
	wall, cpu, err := b.besideNginx(ctx, up, false)
	if err != nil {
		return nil, err
	}
	rate, err := b.requestRate(ctx, up.url)
	return []table.Figure{
		table.Row("seconds of the downloads, relative to nginx", wall, "%.2f", 1.05),
		table.Row("CPU of the server, relative to nginx", cpu, "%.2f", 1.05),
		table.Row("requests for Metadata and Hash, ms each on two cores with their client", 1000/rate, "%.3f", 1000./20_000),
	}, err
}

// serveOverTLS is the same over https.
func (b bench) serveOverTLS(ctx context.Context, e *provider.Emulated) (figures []table.Figure, err error) {
	dir := filepath.Join(b.work, "tls")
	config := filepath.Join(dir, "web.yml")
	text := "tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n"
	if err := errors.Join(os.MkdirAll(dir, 0o700), provider.WriteCertificates(dir), os.WriteFile(config, []byte(text), 0o600)); err != nil {
		return nil, err
	}
	up, err := b.startUpstream(ctx, e, fmt.Sprintf(", web_config: %q", config), "")
	if err != nil {
		return nil, err
	}
	defer func() {
		_, ended := up.End()
		err = errors.Join(err, ended)
	}()
	up.url = "https" + strings.TrimPrefix(up.url, "http")
	wall, cpu, err := b.besideNginx(ctx, up, true)
	return []table.Figure{
		table.Row("seconds of the downloads over https, relative to nginx", wall, "%.2f", 0),
		table.Row("CPU of the server over https, relative to nginx", cpu, "%.2f", 0),
	}, err
}

// besideNginx has both servers send the files in turn, and compares their times and CPU.
func (b bench) besideNginx(ctx context.Context, up upstream, https bool) (wall, cpu float64, err error) {
	dir := filepath.Join(b.work, fmt.Sprintf("nginx-%v", https))
	n, err := provider.ServeFolder(ctx, dir, filepath.Join(up.Dir, "data", "current", provider.Manifest), https)
	if err != nil {
		return 0, 0, err
	}
	defer n.Close()
	var ours, theirs []measure.Sample
	for round := range b.runs + 1 {
		for _, s := range []struct {
			to     *[]measure.Sample
			pid    int
			prefix string
		}{{&ours, up.Process.PID(), up.url + "/Download/Data/" + provider.Release + "/"}, {&theirs, n.PID(), n.URL() + "/"}} {
			taken, err := downloadAll(ctx, s.pid, s.prefix)
			if err != nil {
				return 0, 0, err
			}
			log.Printf("serve: %s %.2f s, CPU %.2f s", s.prefix, taken.Wall.Seconds(), taken.CPU.Seconds())
			if round > 0 {
				*s.to = append(*s.to, taken)
			}
		}
	}
	wall, cpu = measure.Ratios(ours, theirs)
	return wall, cpu, nil
}

// downloadAll downloads the four files at once, and returns the time and the server's CPU. It
// offers one cipher, so that both servers use it.
func downloadAll(ctx context.Context, pid int, prefix string) (measure.Sample, error) {
	args := []string{"--silent", "--fail", "--parallel", "--parallel-immediate", "--http1.1", "--insecure", "--tls13-ciphers", "TLS_AES_128_GCM_SHA256", "--tlsv1.3"}
	for i := range 4 {
		args = append(args, "-o", "/dev/null", prefix+provider.NameOf(i)+askerID)
	}
	before, err := measure.CPUWithChildren(pid)
	if err != nil {
		return measure.Sample{}, err
	}
	taken, err := measure.Run(ctx, exec.Command("curl", args...))
	if err != nil {
		return taken, err
	}
	after, err := measure.CPUWithChildren(pid)
	taken.CPU = after - before
	return taken, err
}

// requestRate returns the answered requests for Metadata and Hash a second, over 64
// connections.
func (b bench) requestRate(ctx context.Context, url string) (float64, error) {
	cmd, err := b.wrk(ctx, url, max(time.Second, 8*time.Second/time.Duration(b.shrink)))
	if err != nil {
		return 0, err
	}
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("wrk: %w: %s", err, out)
	}
	if strings.Contains(string(out), "Non-2xx") {
		return 0, fmt.Errorf("wrk: %s", out)
	}
	_, rest, _ := strings.Cut(string(out), "Requests/sec:")
	var rate float64
	_, err = fmt.Sscan(rest, &rate)
	return rate, err
}

// wrk returns a command that asks for metadata and digests of the four files in turn.
func (b bench) wrk(ctx context.Context, url string, lasts time.Duration) (*exec.Cmd, error) {
	var paths []string
	for i := range 4 {
		for _, endpoint := range []string{"Metadata", "SHA256"} {
			paths = append(paths, fmt.Sprintf("%q", "/"+endpoint+"/Data/"+provider.Release+"/"+provider.NameOf(i)+askerID))
		}
	}
	script := filepath.Join(b.work, "requests.lua")
	text := "local paths = {" + strings.Join(paths, ", ") + "}\nlocal i = 0\nrequest = function()\n\ti = i % #paths + 1\n\treturn wrk.format(\"GET\", paths[i])\nend\n"
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, "wrk", "-t1", "-c64", "-d"+lasts.String(), "-s", script, url), nil
}

// syncBesideFollowers returns how much longer the sync of a new release takes while
// followers download the old one and ask for metadata. Without a limit of the rate, both
// would only share the two cores.
func (b bench) syncBesideFollowers(ctx context.Context) (float64, error) {
	var alone, beside []measure.Sample
	for range b.runs {
		for _, busy := range []bool{false, true} {
			taken, err := b.nextRelease(ctx, busy)
			if err != nil {
				return 0, err
			}
			log.Printf("serve: sync with followers %v: %.2f s", busy, taken.Wall.Seconds())
			if busy {
				beside = append(beside, taken)
			} else {
				alone = append(alone, taken)
			}
		}
	}
	wall, _ := measure.Ratios(beside, alone)
	return wall, nil
}

// nextRelease measures how long the daemon takes to sync the release that comes next.
func (b bench) nextRelease(ctx context.Context, busy bool) (taken measure.Sample, err error) {
	dir, err := os.MkdirTemp(b.work, "next-")
	if err != nil {
		return taken, err
	}
	defer os.RemoveAll(dir)
	e, err := provider.Emulate(ctx, dir, provider.Repeat(2, b.smaller(256*provider.MiB)))
	if err != nil {
		return taken, err
	}
	defer e.Close()
	up, err := b.startUpstream(ctx, e, ", bandwidth: "+followersRate, "schedule: \"@every 1s\"\njitter: 0s\ntransfers: {bandwidth: "+syncRate+"}\n")
	if err != nil {
		return taken, err
	}
	defer func() {
		_, ended := up.End()
		err = errors.Join(err, ended)
	}()
	if busy {
		quiet := up.load(ctx, len(e.Files()))
		defer func() { err = errors.Join(err, quiet()) }()
	}
	if err := publishNext(e, len(e.Files()), e.Files()[0].Size); err != nil {
		return taken, err
	}
	for {
		synced, err := up.Next("sync")
		if err != nil || synced.Changed == true {
			taken.Wall, taken.CPU = synced.Wall(), 1 // no CPU time is compared
			return taken, err
		}
	}
}

// load has followers ask and download until quiet is called.
func (up upstream) load(ctx context.Context, files int) (quiet func() error) {
	ctx, stop := context.WithCancel(ctx)
	var asking scraper
	asking.start(ctx, up.url+"/Metadata/Data/"+provider.Release+"/"+provider.NameOf(0)+askerID, followersRequests)
	var downloads errgroup.Group
	for i := range files {
		downloads.Go(func() error {
			for ctx.Err() == nil {
				err := exec.CommandContext(ctx, "curl", "--silent", "--fail", "-o", "/dev/null", up.url+"/Download/Data/"+provider.Release+"/"+provider.NameOf(i)+askerID).Run()
				if err != nil && ctx.Err() == nil {
					return fmt.Errorf("a follower's download: %w", err)
				}
			}
			return nil
		})
	}
	return func() error {
		stop()
		asking.workers.Wait()
		return errors.Join(downloads.Wait(), asking.failed())
	}
}
