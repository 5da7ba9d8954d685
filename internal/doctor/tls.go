//go:build linux

package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"

	"syncd/internal/clients/certificate"
	"syncd/internal/report"
)

// soon is when a certificate that expires deserves a word.
const soon = 14 * 24 * time.Hour

func (p *provider) checkTLS(ctx context.Context) []Finding {
	u, isProxy := p.peer()
	switch {
	case isProxy:
		return []Finding{good("checked with the first request through the proxy")}
	case u.Scheme != "https":
		return []Finding{good("not used: %s is plain http", p.sourceKey())}
	}
	roots, err := certificate.Roots(p.cfg.Source.CAFile)
	if err != nil {
		return []Finding{failing(err, "check "+p.sourceAt+".ca_file")}
	}
	ctx, cancel := context.WithTimeout(ctx, netPatience)
	defer cancel()
	settings := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if own, err := certificate.Client(p.cfg.Source.ClientCert, p.cfg.Source.ClientKey); err == nil && own != nil {
		settings.Certificates = []tls.Certificate{*own}
	}
	dialer := tls.Dialer{Config: settings}
	conn, err := dialer.DialContext(ctx, "tcp", address(u))
	if err != nil {
		return []Finding{p.explainTLS(err)}
	}
	defer conn.Close()
	state := conn.(*tls.Conn).ConnectionState() // tls.Dialer returns no other
	until := state.PeerCertificates[0].NotAfter
	if time.Until(until) < soon {
		return []Finding{hint(p.askFor(), "the certificate of %s expires at %s", u.Host, report.Moment(until.Local()))}
	}
	return []Finding{good("%s, the certificate is valid until %s", tls.VersionName(state.Version), report.Moment(until.Local()))}
}

// explainTLS tells a private CA, a wrong name and a wrong clock apart.
func (s *setup) explainTLS(err error) Finding {
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &authority):
		return failure("if a proxy inspects TLS or the CA is private, name its root certificate in "+s.sourceAt+".ca_file; else install ca-certificates", "the server's certificate is not trusted: %v", authority)
	case errors.As(err, &hostname):
		return failure("check the host in "+s.sourceKey(), "the server's certificate is for another host: %v", hostname)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return failure("check the clock with `timedatectl`; if it is right, "+s.askFor(), "the server's certificate is not valid at the time of this machine's clock: %v", invalid)
	}
	return failure("check that "+s.sourceKey()+" names a server that speaks TLS at that port", "the TLS handshake failed: %v", err)
}

func isCertificate(err error) bool {
	var wrong *tls.CertificateVerificationError
	return errors.As(err, &wrong)
}
