// Package keyfile reads the files of package trust: trust texts and private keys. An error
// names the setting and the file, and quotes nothing from it.
package keyfile

import (
	"time"

	"syncd/internal/clients/certificate"
	"syncd/internal/disk/fsops"
	"syncd/internal/downstream/trust"
)

const (
	nextTrust = "name the file that `syncd trust init` wrote"
	nextKey   = "name the file that `syncd trust keygen` wrote"
)

// Chain reads a trust file.
func Chain(path string) (trust.Chain, error) {
	data, _, err := fsops.ReadRegular(path, trust.MaxChain)
	if err != nil {
		return nil, problem("trust_file", path, "cannot be read: "+err.Error(), nextTrust)
	}
	chain, err := trust.ParseChain(data)
	if err != nil {
		return nil, problem("trust_file", path, "cannot be used: "+err.Error(), nextTrust)
	}
	return chain, nil
}

// Signer reads the files of a publisher.
func Signer(key, chain string, valid time.Duration) (*trust.Signer, error) {
	trusted, err := Chain(chain)
	if err != nil {
		return nil, err
	}
	text, _, err := fsops.ReadRegular(key, trust.MaxText)
	if err != nil {
		return nil, problem("key_file", key, "cannot be read: "+err.Error(), nextKey)
	}
	private, err := trust.ParsePrivateKey(string(text))
	if err != nil {
		return nil, problem("key_file", key, "cannot be used: "+err.Error(), nextKey)
	}
	signer, err := trust.NewSigner(private, trusted, valid)
	if err != nil {
		return nil, problem("key_file", key, "cannot sign: "+err.Error(), "or name another trust_file")
	}
	return signer, nil
}

func problem(key, path, what, next string) error {
	return &certificate.FileError{Key: key, Path: path, Problem: what, Next: next}
}
