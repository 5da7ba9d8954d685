//go:build linux

package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"github.com/dustin/go-humanize/english"

	"syncd/internal/config"
	"syncd/internal/config/document"
	"syncd/internal/disk/fsops"
	"syncd/internal/host/account"
	programs "syncd/internal/host/command"
	"syncd/internal/host/unitfile"
)

func (s *setup) checkConfiguration(context.Context) []Finding {
	cfg, err := config.Load(s.ConfigFile, config.Environment{Getenv: s.daemonEnv(), ChangerOf: s.ChangerOf})
	if err != nil {
		return configFailures(err)
	}
	s.cfg = cfg
	if len(cfg.Others) > 0 {
		s.sourceAt = document.Index(s.sourceAt, 0)
	}
	var found []Finding
	for _, line := range append(cfg.Warnings(), cfg.Notes()...) {
		text, next, _ := strings.Cut(line, "; ")
		found = append(found, hint(cmp.Or(next, "set customer_id_file if another one is meant"), "%s", text))
	}
	return orGood(found, "%s is valid, with %s", cfg.Path, english.Plural(len(cfg.Manifests), "manifest", ""))
}

// maxConfig is more than a configuration may have.
const maxConfig = 16 << 20

// checkFiles reads the configuration and the files that it names, as the daemon will.
func (s *setup) checkFiles(context.Context) []Finding {
	err := s.starter.Do(func() error {
		_, _, err := fsops.ReadRegular(s.cfg.Path, maxConfig)
		return err
	})
	if err != nil {
		return []Finding{failure(fmt.Sprintf("run `chgrp %s %s` and `chmod 640` on it", s.starter.Name, s.cfg.Path), "user %s cannot read %s: %v", s.starter.Name, s.cfg.Path, cause(err))}
	}
	found := s.checkHookCredentials()
	if err := s.starter.Do(func() error { return s.CheckFiles(s.cfg, "") }); err != nil {
		found = append(found, configFailures(err)...)
	}
	for _, c := range s.commands() {
		var path string
		if err := s.worker.Do(func() (err error) { path, err = exec.LookPath(c.program); return err }); err != nil {
			found = append(found, failure("install it, or make it executable for that user", "%s: user %s cannot run %s: %v", c.key, s.worker.Name, c.program, cause(err)))
		} else if err := s.worker.Do(func() error { return programs.CheckScript(path) }); err != nil {
			found = append(found, failure("correct the first line of that file, or install its interpreter", "%s: user %s cannot run %s: %v", c.key, s.worker.Name, c.program, err))
		}
	}
	return orGood(found, "user %s can read %s and the files that it names", s.starter.Name, s.cfg.Path)
}

// checkHookCredentials looks at signing secrets that the unit loads as credentials: their
// files exist only while the daemon runs.
func (s *setup) checkHookCredentials() (found []Finding) {
	if s.unit == nil {
		return nil
	}
	for _, name := range s.cfg.DropHookSecretsIn("/run/credentials/" + unitfile.Name) {
		path, isOpaque := s.unit.Credential(name)
		if path == "" && !isOpaque {
			found = append(found, failure(dropIn("LoadCredential="+name+":/etc/syncd/"+name), "hooks: the unit does not load the credential %s, which secret_file names", name))
		} else if _, err := os.Stat(path); !isOpaque && errors.Is(err, fs.ErrNotExist) {
			found = append(found, failure("write the secret there with mode 600", "hooks: the unit loads a secret from %s, which does not exist", path))
		}
	}
	return found
}

// cause is an error without the path and the operation in front.
func cause(err error) error {
	var path *fs.PathError
	var program *exec.Error
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &program):
		return program.Err
	}
	return err
}

// command is a program that the configuration names.
type command struct{ key, program string }

// commands are those of gates, probes and hooks, each once.
func (s *setup) commands() (all []command) {
	seen := map[string]bool{}
	add := func(key string, argv []string) {
		if len(argv) > 0 && !seen[key+argv[0]] {
			seen[key+argv[0]] = true
			all = append(all, command{key, argv[0]})
		}
	}
	for _, m := range s.cfg.Manifests {
		add("gate", m.Gate.Command)
		add("probe", m.Probe.Command)
	}
	for _, h := range s.cfg.Hooks {
		add("hooks", h.Command)
	}
	return all
}

// checkID reads the Customer ID as the daemon will: systemd reads a credential as root,
// and the daemon the other ways as its own user.
func (s *setup) checkID(context.Context) []Finding {
	reader, path := s.starter, ""
	if s.unit != nil && s.isFirst() {
		var isOpaque bool
		if path, isOpaque = s.unit.Credential(unitfile.IDCredential); isOpaque {
			return s.useOwnID(skipped("the unit gives the Customer ID in a form that only systemd can read; set %s here to check it", idVariable))
		}
	}
	if path != "" {
		reader = account.Self()
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return []Finding{failure("write the Customer ID there with mode 600, or take LoadCredential= out of the unit", "the unit loads the Customer ID from %s, which does not exist: systemd does not start the daemon", path)}
		}
	}
	var id config.Secret
	err := reader.Do(func() (err error) {
		id, err = s.cfg.Source.ReadID()
		return err
	})
	switch {
	case errors.Is(err, fs.ErrPermission) && (path != "" || !reader.CanDo()):
		return s.useOwnID(skippedUntil("run this as root", "user %s cannot read the Customer ID of the daemon", account.Self().Name))
	case err != nil:
		return configFailures(err)
	}
	s.use(id)
	if s.isFollower() {
		return []Finding{good("a bucket needs no Customer ID")}
	}
	return []Finding{good("a Customer ID is there")}
}

func (s *setup) use(id config.Secret) {
	s.AddSecret(id.Reveal())
	s.id = id
}

// useOwnID takes the Customer ID from this process's environment, when that of the unit
// cannot be read.
func (s *setup) useOwnID(otherwise Finding) []Finding {
	id := strings.TrimSpace(s.Getenv(idVariable))
	if id == "" || !s.isFirst() {
		return []Finding{otherwise}
	}
	s.use(config.Secret(id))
	return []Finding{hint("compare it with that of the unit", "the Customer ID of this shell is checked, because that of the unit cannot be read")}
}
