//go:build linux

package doctor

import (
	"context"
	"time"

	"syncd/internal/config"
	"syncd/internal/downstream/keyfile"
	"syncd/internal/downstream/trust"
	"syncd/internal/report"
)

// trustEndsSoon is when the end of a trust text is near: every host needs the next version.
const trustEndsSoon = 30 * 24 * time.Hour

// nextVersion is the next step before and after the end of a trust text.
const nextVersion = "make the next version: `syncd trust add --expires DATE --trust FILE --key FILE`"

// checkTrust reads keys and trust texts as the daemon will, and looks when they end.
func (s *setup) checkTrust(context.Context) []Finding {
	c := s.cfg
	var found []Finding
	if file := c.Source.TrustFile; file != "" {
		found = append(found, s.trustFindings("source.trust_file", func() (trust.Chain, error) {
			chain, err := keyfile.Chain(file)
			return chain, c.Located("source", err)
		})...)
	}
	if c.Sign.TrustFile != "" {
		found = append(found, s.trustFindings("sign.trust_file", func() (trust.Chain, error) {
			if s.loadsKey() {
				chain, err := keyfile.Chain(c.Sign.TrustFile)
				return chain, c.Located("sign", err)
			}
			signer, err := c.Signer()
			if err != nil {
				return nil, err
			}
			return signer.Chain(), nil
		})...)
		found = append(found, s.checkServeSigns()...)
	}
	if len(found) == 0 {
		return []Finding{good("no trust file and no key to sign with are configured")}
	}
	return found
}

// checkServeSigns finds a trust text that asks for more keys than ever sign what this host serves:
// signatures of several publishers meet in a bucket alone.
func (s *setup) checkServeSigns() []Finding {
	if s.cfg.Serve.Listen == "" {
		return nil
	}
	var chain trust.Chain
	err := s.worker.Do(func() (err error) {
		chain, err = keyfile.Chain(s.cfg.Sign.TrustFile)
		return err
	})
	if err != nil || chain.Newest().Threshold < 2 {
		return nil
	}
	const next = "give such followers a trust text with a threshold of 1, or let them follow the bucket, or a host that follows it: that one passes all signatures on"
	return []Finding{hint(next, "serve: sign.trust_file asks for %d keys, and what serve gives followers is signed by this host's alone: those with this trust file refuse it", chain.Newest().Threshold)}
}

// loadsKey is true when the unit gives the daemon its key: its file exists only while that runs.
func (s *setup) loadsKey() bool {
	if s.unit == nil || s.cfg.Sign.KeyFile != "" {
		return false
	}
	path, isOpaque := s.unit.Credential(config.CredentialKey)
	return path != "" || isOpaque
}

func (s *setup) trustFindings(key string, read func() (trust.Chain, error)) []Finding {
	var chain trust.Chain
	err := s.worker.Do(func() (err error) {
		chain, err = read()
		return err
	})
	if err != nil {
		return configFailures(err)
	}
	newest := chain.Newest()
	text, end := key+": version %d of the trust text of %s ends at %s", report.Moment(newest.Expires)
	switch left := time.Until(newest.Expires); {
	case left <= 0:
		return []Finding{failure(nextVersion, text+", which is past", newest.Version, newest.Origin, end)}
	case left < trustEndsSoon:
		return []Finding{hint(nextVersion, text, newest.Version, newest.Origin, end)}
	}
	return []Finding{good(text, newest.Version, newest.Origin, end)}
}
