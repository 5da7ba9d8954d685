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
	"syncd/internal/disk/fsops"
	"syncd/internal/host/account"
	"syncd/internal/host/unitfile"
)

func (e *examination) checkConfiguration(context.Context) []Finding {
	cfg, err := config.Load(e.ConfigFile, config.Environment{Getenv: e.daemonEnv()})
	if err != nil {
		return configFailures(err)
	}
	e.cfg = cfg
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
func (e *examination) checkFiles(context.Context) []Finding {
	err := e.starter.Do(func() error {
		_, _, err := fsops.ReadRegular(e.cfg.Path, maxConfig)
		return err
	})
	if err != nil {
		return []Finding{failure(fmt.Sprintf("run `chgrp %s %s` and `chmod 640` on it", e.starter.Name, e.cfg.Path), "user %s cannot read %s: %v", e.starter.Name, e.cfg.Path, cause(err))}
	}
	found := e.checkHookCredentials()
	if err := e.starter.Do(func() error { return e.CheckFiles(e.cfg, "") }); err != nil {
		found = append(found, configFailures(err)...)
	}
	for _, c := range e.commands() {
		if err := e.worker.Do(func() error { _, err := exec.LookPath(c.program); return err }); err != nil {
			found = append(found, failure("install it, or make it executable for that user", "%s: user %s cannot run %s: %v", c.key, e.worker.Name, c.program, cause(err)))
		}
	}
	return orGood(found, "user %s can read %s and the files that it names", e.starter.Name, e.cfg.Path)
}

// checkHookCredentials looks at signing secrets that the unit loads as credentials: their
// files exist only while the daemon runs.
func (e *examination) checkHookCredentials() (found []Finding) {
	if e.unit == nil {
		return nil
	}
	for _, name := range e.cfg.DropHookSecretsIn("/run/credentials/" + unitfile.Name) {
		path, isOpaque := e.unit.Credential(name)
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

// commands are those of gates and hooks, each once.
func (e *examination) commands() (all []command) {
	seen := map[string]bool{}
	add := func(key string, argv []string) {
		if len(argv) > 0 && !seen[key+argv[0]] {
			seen[key+argv[0]] = true
			all = append(all, command{key, argv[0]})
		}
	}
	for _, m := range e.cfg.Manifests {
		add("gate", m.Gate.Command)
	}
	for _, h := range e.cfg.Hooks {
		add("hooks", h.Command)
	}
	return all
}

// checkID reads the Customer ID as the daemon will: systemd reads a credential as root,
// and the daemon the other ways as its own user.
func (e *examination) checkID(context.Context) []Finding {
	reader, path := e.starter, ""
	if e.unit != nil {
		var isOpaque bool
		if path, isOpaque = e.unit.Credential(unitfile.IDCredential); isOpaque {
			return e.useOwnID(skipped("the unit gives the Customer ID in a form that only systemd can read; set %s here to check it", idVariable))
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
		id, err = e.cfg.Source.ReadID()
		return err
	})
	switch {
	case errors.Is(err, fs.ErrPermission) && (path != "" || !reader.CanDo()):
		return e.useOwnID(skippedUntil("run this as root", "user %s cannot read the Customer ID of the daemon", account.Self().Name))
	case err != nil:
		return configFailures(err)
	}
	e.use(id)
	if e.isFollower() {
		return []Finding{good("a bucket needs no Customer ID")}
	}
	return []Finding{good("a Customer ID is there")}
}

func (e *examination) use(id config.Secret) {
	e.AddSecret(id.Reveal())
	e.id = id
}

// useOwnID takes the Customer ID from this process's environment, when that of the unit
// cannot be read.
func (e *examination) useOwnID(otherwise Finding) []Finding {
	id := strings.TrimSpace(e.Getenv(idVariable))
	if id == "" {
		return []Finding{otherwise}
	}
	e.use(config.Secret(id))
	return []Finding{hint("compare it with that of the unit", "the Customer ID of this shell is checked, because that of the unit cannot be read")}
}
