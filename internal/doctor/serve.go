//go:build linux

package doctor

import (
	"context"
	"net"
	"net/url"
	"slices"
	"time"

	"syncd/internal/clients/origin"
	"syncd/internal/config"
	"syncd/internal/httpserver"
	"syncd/internal/report"
)

// checkServe looks at the server for followers, and at the certificates of both servers.
func (d *daemon) checkServe(ctx context.Context) (found []Finding) {
	if d.cfg.HTTP.Listen != "" {
		found = d.checkCertificate("http.web_config", d.cfg.HTTP.WebConfig, "")
	}
	s := d.cfg.Serve
	if !s.IsOn() {
		return found
	}
	found = append(found, d.checkCertificate("serve.web_config", s.WebConfig, s.PublicURL.Hostname())...)
	found = append(found, d.checkIDsFile(s)...)
	found = append(found, d.checkPublicURL(ctx, s)...)
	return orGood(found, "followers can be served as %s", s.PublicURL)
}

// checkCertificate looks at the certificate of a server, which clients know as host.
func (d *daemon) checkCertificate(key, path, host string) []Finding {
	var until time.Time
	var wrongName error
	err := d.worker.Do(func() error {
		file, err := httpserver.OpenWebConfig(path)
		if err != nil {
			return err
		}
		defer file.Close()
		certificate, err := file.Certificate()
		if certificate != nil {
			until = certificate.NotAfter
			if host != "" {
				wrongName = certificate.VerifyHostname(host)
			}
		}
		return err
	})
	switch left := time.Until(until); {
	case err != nil:
		return []Finding{failure("correct that file, or let user "+d.worker.Name+" read it", "%s: %v", key, err)}
	case until.IsZero():
		return nil
	case left < 0:
		return []Finding{failure("renew it; the daemon reads it again by itself", "the certificate of %s expired at %s: clients refuse it", key, report.Moment(until.Local()))}
	case wrongName != nil:
		return []Finding{hint("use a certificate for that name, unless a proxy in front shows one", "the certificate of %s is not for serve.public_url: %v", key, wrongName)}
	case left < soon:
		return []Finding{hint("renew it; the daemon reads it again by itself", "the certificate of %s expires at %s", key, report.Moment(until.Local()))}
	}
	return nil
}

// checkIDsFile says who may ask.
func (d *daemon) checkIDsFile(s config.Serve) []Finding {
	if s.IDsFile == "" {
		return []Finding{hint("name a file in serve.ids_file, and make ids with `syncd serve-id add NAME`", "serve has no ids_file: it answers every program on this host, and everybody through a proxy that runs here")}
	}
	var rings []string
	err := d.worker.Do(func() (err error) {
		rings, err = d.Rings(s.IDsFile)
		return err
	})
	switch unknown := slices.IndexFunc(rings, func(ring string) bool { return !hasRing(s.Rings, ring) }); {
	case err != nil:
		return []Finding{failing(err, "run `syncd serve-id add NAME`, which makes the file, and let user "+d.worker.Name+" read it")}
	case len(rings) == 0:
		return []Finding{hint("run `syncd serve-id add NAME` for each follower", "serve.ids_file has no id, so that no follower may ask")}
	case unknown >= 0:
		return []Finding{hint("add it to serve.rings, or correct it in serve.ids_file", "serve.rings has no ring %s: its followers see what the last ring sees", rings[unknown])}
	}
	return nil
}

func hasRing(rings []config.Ring, name string) bool {
	return name == "" || slices.ContainsFunc(rings, func(r config.Ring) bool { return r.Name == name })
}

// checkPublicURL looks whether links of manifests can lead to this server. A proxy in front
// may make right what looks wrong from here, so all of it are hints.
func (d *daemon) checkPublicURL(ctx context.Context, s config.Serve) []Finding {
	u := s.PublicURL
	host, port, _ := net.SplitHostPort(s.Listen) // the configuration is checked
	_, publicPort, _ := net.SplitHostPort(address(u))
	switch {
	case publicPort == port && u.Scheme == "https" && s.WebConfig == "":
		return []Finding{hint("name a file with a certificate in serve.web_config, or let a proxy speak TLS", "serve.public_url %s says https, but serve.listen %s speaks plain http", u, s.Listen)}
	case publicPort == port && u.Scheme == "http" && s.WebConfig != "":
		return []Finding{hint("write https in serve.public_url", "serve.public_url %s says http, but serve.listen %s may speak TLS (serve.web_config)", u, s.Listen)}
	case origin.IsLoopback(u.Hostname()) && !origin.IsLoopback(host):
		return []Finding{hint("write the name by which followers reach this host", "serve.public_url %s leads every follower to itself", u)}
	}
	return d.reachPublicURL(ctx, u)
}

// publicPatience bounds the attempt to reach serve.public_url.
const publicPatience = 3 * time.Second

func (d *daemon) reachPublicURL(ctx context.Context, u *url.URL) []Finding {
	ctx, cancel := context.WithTimeout(ctx, publicPatience)
	defer cancel()
	if _, err := net.DefaultResolver.LookupHost(ctx, u.Hostname()); err != nil {
		return []Finding{hint("correct the name, or make it known: followers need it", "serve.public_url %s: the name cannot be resolved from here: %v", u, err)}
	}
	if d.engine == nil || d.isCommand {
		return nil // nothing need listen there
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address(u))
	if err != nil {
		return []Finding{hint("correct it, or check the proxy or the firewall in front of serve.listen", "serve.public_url %s cannot be reached from here: %v", u, err)}
	}
	conn.Close()
	return nil
}
