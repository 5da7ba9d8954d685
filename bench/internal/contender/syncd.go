package contender

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"syncd/bench/internal/provider"
)

// Settings are the values that a case sets under transfers; 0 leaves the default.
type Settings struct{ Files, Segments int }

func (s Settings) String() string {
	var parts []string
	if s.Files > 0 {
		parts = append(parts, fmt.Sprintf("files: %d", s.Files))
	}
	if s.Segments > 0 {
		parts = append(parts, fmt.Sprintf("segments: %d", s.Segments))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// Syncd returns a first sync with these settings.
func Syncd(name, binary string, set Settings) Contender {
	return Contender{Name: name, Check: Mirrored, Command: func(p provider.Provider, dir string) (*exec.Cmd, error) {
		return SyncCommand(binary, p, dir, set)
	}}
}

// SyncCommand returns the command that syncs into dir, for the first time or again.
func SyncCommand(binary string, p provider.Provider, dir string, set Settings) (*exec.Cmd, error) {
	path, err := WriteConfig(p, dir, fmt.Sprintf("transfers: %s\nmanifests: [{name: %s}]\n", set, provider.Manifest))
	return exec.Command(binary, "--config", path, "sync", "--quiet"), err
}

// Source is where syncd takes its data from.
type Source interface {
	URL() string
	CAFile() string // certificate to trust; "" over plain HTTP
}

// WriteConfig writes a configuration of syncd for a source and appends more to it.
func WriteConfig(from Source, dir, more string) (path string, err error) {
	path = filepath.Join(dir, "syncd.yaml")
	text := fmt.Sprintf("source: {url: %q, customer_id: %q, ca_file: %q}\ndata_dir: %q\n%s",
		from.URL(), provider.CustomerID, from.CAFile(), filepath.Join(dir, "data"), more)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// Mirrored checks that the current generation holds count files.
func Mirrored(dir string, count int) error {
	entries, err := os.ReadDir(filepath.Join(dir, "data", "current", provider.Manifest))
	if err == nil && len(entries) != count {
		err = fmt.Errorf("current holds %d of %d files", len(entries), count)
	}
	return err
}
