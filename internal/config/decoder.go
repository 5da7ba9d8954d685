package config

import (
	"path/filepath"

	"syncd/internal/config/document"
)

// decoder decodes the file's document into a Config. It lists the settings that Warnings
// speaks about.
type decoder struct {
	*document.Decoder
	dir      string // of the file, absolute
	env      Environment
	secrets  []document.Place
	plain    []document.Place
	keys     []keyFile
	unsigned []document.Place // webhooks without a secret

	sourceOnly bool // the file may have no manifests
}

func newDecoder(file string, env Environment) (*decoder, error) {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, &document.Error{File: file, Problem: "its directory cannot be found: the working directory is gone", Suggestion: "start syncd in another directory"}
	}
	return &decoder{Decoder: document.NewDecoder(file), dir: dir, env: env}, nil
}

// besideConfig resolves a path against the directory of the configuration file. ""
// stays "".
func (d *decoder) besideConfig(text string) (string, *document.Fault) {
	if text == "" || filepath.IsAbs(text) {
		return text, nil
	}
	return filepath.Join(d.dir, text), nil
}
