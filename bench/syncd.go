package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// settings are the values that a case sets under transfers; 0 leaves the default.
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

// contender returns a first sync with these settings.
func (b bench) contender(name string, set settings) contender {
	return contender{name: name, check: mirrored, command: func(s *served, dir string) (*exec.Cmd, error) {
		return b.syncCommand(s, dir, set)
	}}
}

// syncCommand returns the command that syncs into dir, for the first time or again.
func (b bench) syncCommand(s *served, dir string, set settings) (*exec.Cmd, error) {
	path, err := writeConfig(s, dir, fmt.Sprintf("transfers: %s\nmanifests: [{name: %s}]\n", set, manifestName))
	return exec.Command(b.syncd, "--config", path, "sync", "--quiet"), err
}

// writeConfig writes a configuration for s and appends more to it.
func writeConfig(s *served, dir, more string) (path string, err error) {
	path = filepath.Join(dir, "syncd.yaml")
	text := fmt.Sprintf("source: {url: %q, customer_id: %q}\ndata_dir: %q\n%s", s.emulator.URL(), customerID, filepath.Join(dir, "data"), more)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// mirrored checks that the current generation holds count files.
func mirrored(dir string, count int) error {
	entries, err := os.ReadDir(filepath.Join(dir, "data", "current", manifestName))
	if err == nil && len(entries) != count {
		err = fmt.Errorf("current holds %d of %d files", len(entries), count)
	}
	return err
}
