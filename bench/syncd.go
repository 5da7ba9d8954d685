package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// settings are what a case sets in syncd's configuration; 0 leaves the default.
type settings struct{ files, segments int }

func (s settings) String() string {
	var parts []string
	if s.files > 0 {
		parts = append(parts, fmt.Sprintf("files: %d", s.files))
	}
	if s.segments > 0 {
		parts = append(parts, fmt.Sprintf("segments: %d", s.segments))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// contender is a cold sync with the defaults, or with settings.
func (b bench) contender(name string, set settings) contender {
	return contender{name: name, check: mirrored, command: func(s *served, dir string) (*exec.Cmd, error) {
		return b.syncCommand(s, dir, set)
	}}
}

// syncCommand is a sync into dir, the first or a later one.
func (b bench) syncCommand(s *served, dir string, set settings) (*exec.Cmd, error) {
	path, err := writeConfig(s, dir, fmt.Sprintf("transfers: %s\nmanifests: [{name: %s}]\n", set, manifestName))
	return exec.Command(b.syncd, "--config", path, "sync", "--quiet"), err
}

// writeConfig writes a configuration that ends in more.
func writeConfig(s *served, dir, more string) (path string, err error) {
	path = filepath.Join(dir, "syncd.yaml")
	text := fmt.Sprintf("source: {url: %q, customer_id: %q}\ndata_dir: %q\n%s", s.emulator.URL(), customerID, filepath.Join(dir, "data"), more)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// mirrored requires that the current generation holds so many files.
func mirrored(dir string, count int) error {
	entries, err := os.ReadDir(filepath.Join(dir, "data", "current", manifestName))
	if err == nil && len(entries) != count {
		err = fmt.Errorf("it holds %d of %d files", len(entries), count)
	}
	return err
}
