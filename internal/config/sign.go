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

// credentialKey is the systemd credential with the private key.
const credentialKey = "signing_key"

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
		file := filepath.Join(dir, credentialKey)
		if _, err := os.Stat(file); err == nil {
			s.KeyFile = file
		}
	}
	switch {
	case s.KeyFile == "" && s.TrustFile == "":
		return
	case s.TrustFile == "" && d.Valid("sign.trust_file"):
		d.Fail("sign.trust_file", "is missing", "name the file that `syncd trust init` wrote: followers need its versions")
	case s.KeyFile == "" && d.Valid("sign.key_file"):
		d.Fail("sign.key_file", "is missing", "name the file that `syncd trust keygen` wrote, or use the systemd credential "+credentialKey)
	}
	if d.IsSet("sign.key_file") {
		d.keys = append(d.keys, keyFile{d.Place("sign.key_file"), s.KeyFile})
	}
}

// Signer returns the key of this host and the trust text, nil if nothing is signed. Each
// call reads the files again.
func (c *Config) Signer() (*trust.Signer, error) {
	if c.Sign.TrustFile == "" {
		return nil, nil
	}
	signer, err := keyfile.Signer(c.Sign.KeyFile, c.Sign.TrustFile, c.Sign.Valid)
	if err != nil {
		return nil, c.Located("sign", err)
	}
	return signer, nil
}
