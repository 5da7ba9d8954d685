package config

import (
	"os"
	"path/filepath"
	"time"

	"syncd/internal/config/document"
	"syncd/internal/config/value"
	"syncd/internal/downstream/keyfile"
	"syncd/internal/downstream/trust"
)

// Sign says with which key this host signs what it publishes and serves.
type Sign struct {
	KeyFile   string        // absolute after Load; without one, the systemd credential signing_key
	TrustFile string        // absolute after Load, "" = nothing is signed
	Valid     time.Duration // how long followers believe a statement
}

// CredentialKey is the systemd credential with the private key. Only the daemon has it, so
// that a key that is missing is no error before something is to be signed.
const CredentialKey = "signing_key"

func (d *decoder) sign(s *Sign) document.Table {
	return document.Table{
		"key_file":   document.Scalar(&s.KeyFile, d.besideConfig),
		"trust_file": document.Scalar(&s.TrustFile, d.besideConfig),
		"valid":      document.Scalar(&s.Valid, parseValid),
	}
}

func parseValid(text string) (time.Duration, *document.Fault) {
	valid, f := value.LongDuration(text)
	if f == nil && valid < trust.MinValid {
		return 0, value.RefuseNumber(text, "is under a minute", "a publisher that is away for longer stops its followers: use a form such as 48h or 7d")
	}
	return valid, f
}

// checkSign checks how the values of sign relate to others.
func (d *decoder) checkSign(c *Config) {
	s := &c.Sign
	if dir := d.env.get(directoryName); s.KeyFile == "" && s.TrustFile != "" && dir != "" {
		file := filepath.Join(dir, CredentialKey)
		if _, err := os.Stat(file); err == nil {
			s.KeyFile = file
		}
	}
	if s.KeyFile != "" && s.TrustFile == "" && d.Valid("sign.trust_file") {
		d.Fail("sign.trust_file", "is missing", "name the file that `syncd trust init` wrote: followers need its versions")
	}
	if d.IsSet("sign.key_file") {
		d.keys = append(d.keys, keyFile{place: d.Place("sign.key_file"), path: s.KeyFile})
	}
	if s.TrustFile != "" {
		d.keys = append(d.keys, keyFile{d.Place("sign.trust_file"), s.TrustFile, true})
	}
}

// Signer returns the key of this host and the trust text, nil if nothing is signed. Each
// call reads the files again.
func (c *Config) Signer() (*trust.Signer, error) {
	if c.Sign.TrustFile == "" {
		return nil, nil
	}
	if c.Sign.KeyFile == "" {
		return nil, c.At("sign.trust_file").Error(c.Path, "needs a key to sign with, and there is none",
			"name it in sign.key_file, or let the unit load it (LoadCredential="+CredentialKey+":FILE): then only the daemon signs")
	}
	signer, err := keyfile.Signer(c.Sign.KeyFile, c.Sign.TrustFile, c.Sign.Valid)
	if err != nil {
		return nil, c.Located("sign", err)
	}
	return signer, nil
}
