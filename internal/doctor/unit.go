//go:build linux

package doctor

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"syncd/internal/disk/fsops"
	"syncd/internal/host/account"
	"syncd/internal/host/unitfile"
)

const idVariable = "SYNCD_CUSTOMER_ID"

// maxID is more than a Customer ID has, in bytes.
const maxID = 64 << 10

// checkUnit finds the unit, and takes over its environment if it uses this configuration.
func (e *examination) checkUnit(context.Context) []Finding {
	u, err := unitfile.Find(unitfile.Name, unitfile.Dirs(e.Getenv))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []Finding{hint("install the package or deploy/systemd/syncd.service; in a container no unit is needed", "no systemd unit %s is installed", unitfile.Name)}
	case err != nil:
		return []Finding{failure("check that file with `systemd-analyze verify`", "%v", err)}
	case u.IsMasked:
		return []Finding{hint("run `systemctl unmask syncd`", "the systemd unit %s is masked", u.Path)}
	}
	environ, err := u.Environment()
	if uses := u.ConfigFile(environ); !unitfile.IsSameFile(uses, e.ConfigFile) {
		return []Finding{hint("run `syncd --config "+uses+" doctor` for the unit", "the unit %s uses %s, not %s; it is not checked", u.Path, uses, e.ConfigFile)}
	}
	e.unit, e.environ = u, environ
	e.isBlind = errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0
	e.adoptEnvironment()
	found := e.checkProgram()
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		found = append(found, skippedUntil("run this as root", "unit %s: this user cannot read all of its environment: %v", u.Path, err))
	} else if err != nil {
		found = append(found, failure("make that file, or correct the unit: systemd does not start the daemon without it", "unit %s: %v", u.Path, err))
	}
	return orGood(found, "%s runs syncd with this configuration", u.Path)
}

func (e *examination) checkProgram() []Finding {
	command := e.unit.Command()
	if len(command) == 0 {
		return []Finding{failure("install the unit that syncd ships", "unit %s has no ExecStart=", e.unit.Path)}
	}
	info, err := os.Stat(command[0])
	if err != nil || info.Mode()&0o111 == 0 {
		return []Finding{failure("install syncd there, or correct ExecStart=", "the unit starts %s, which is no program", command[0])}
	}
	if e.unit.IsOn("DynamicUser") {
		return []Finding{hint("use a static user, as the shipped unit does", "unit %s has DynamicUser=, which hides the data from readers", e.unit.Path)}
	}
	return nil
}

// daemonEnv is the environment in which the daemon reads the configuration: that of the
// unit, or else of this process.
func (e *examination) daemonEnv() func(string) string {
	if e.unit == nil {
		return e.Getenv
	}
	environ := maps.Clone(e.environ)
	if path, _ := e.unit.Credential(unitfile.IDCredential); filepath.Base(path) == unitfile.IDCredential {
		environ["CREDENTIALS_DIRECTORY"] = filepath.Dir(path) // as systemd makes one
	} else if id, _, err := fsops.ReadRegular(path, maxID); err == nil {
		environ[idVariable] = string(id)
	}
	return func(name string) string { return environ[name] }
}

// adoptEnvironment makes this process use the proxy and the credentials for S3 of the unit:
// those of a shell say nothing about the daemon.
func (e *examination) adoptEnvironment() {
	for _, upper := range []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"} {
		for _, name := range []string{upper, strings.ToLower(upper)} {
			if e.environ[name] == "" && e.Getenv(name) != "" && upper != "NO_PROXY" {
				e.shellProxy = name
			}
			os.Setenv(name, e.environ[name])
		}
	}
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); isOfStorage(name) {
			os.Unsetenv(name)
		}
	}
	for name, value := range e.environ {
		if isOfStorage(name) {
			os.Setenv(name, value)
		}
	}
	os.Setenv("HOME", e.unitHome())
	if e.keyCredential = credentialName(os.Getenv(sharedVariable)); e.keyCredential != "" {
		path, isOpaque := e.unit.Credential(e.keyCredential)
		e.isBlind = e.isBlind || isOpaque
		os.Setenv(sharedVariable, path)
		os.Setenv("AWS_CONFIG_FILE", os.DevNull) // root reads that file: nothing of the daemon's home may count
	}
}

// credentialName is the name of the unit's credential that a path leads to, "" for none.
func credentialName(path string) string {
	for _, folder := range []string{"%d/", "${CREDENTIALS_DIRECTORY}/", "/run/credentials/" + unitfile.Name + "/"} {
		if name, isCredential := strings.CutPrefix(path, folder); isCredential {
			return name
		}
	}
	return ""
}

// isOfStorage is true for variables that decide about credentials for S3.
func isOfStorage(name string) bool {
	return strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "MINIO_")
}

// unitHome is the home folder of the daemon, as systemd sets it.
func (e *examination) unitHome() string {
	if home := e.environ["HOME"]; home != "" {
		return home
	}
	if found, err := user.Lookup(e.unit.Value("User")); err == nil {
		return found.HomeDir
	}
	return ""
}

// checkUser finds out who reads the configuration and who works in data_dir. The daemon
// starts as the unit's user. Started as root, it becomes the owner of data_dir.
func (e *examination) checkUser(context.Context) []Finding {
	starter, err := e.findStarter()
	if errors.Is(err, account.ErrNoGroup) {
		return []Finding{failure("run `groupadd --system` with its name, or take Group= out of the unit", "%v", err)}
	}
	if err != nil {
		return []Finding{failure("run `useradd --system --home-dir /var/lib/syncd --shell /usr/sbin/nologin syncd`, or name another user", "%v", err)}
	}
	e.starter, e.worker = starter, starter
	if starter.UID == 0 {
		if info, err := os.Stat(e.cfg.DataDir); err == nil {
			if e.worker, err = account.OwnerOf(info); err != nil {
				return []Finding{failing(err, "check /etc/passwd and /etc/group")}
			}
		}
	}
	if !e.worker.CanDo() {
		next := "run this as root"
		if e.worker.UID != 0 {
			next += ", or as " + e.worker.Name
		}
		return []Finding{skippedUntil(next, "the permissions of user %s are not checked, because this runs as %s", e.worker.Name, account.Self().Name)}
	}
	return []Finding{good("permissions are checked for user %s", e.worker.Name)}
}

func (e *examination) findStarter() (account.Account, error) {
	switch {
	case e.User != "":
		return account.Named(e.User)
	case e.unit == nil:
		return account.Self(), nil
	}
	name := e.unit.Value("User")
	if name == "" {
		name = "root"
	}
	found, err := account.Named(name)
	if err != nil {
		return found, err
	}
	groups := e.unit.Words("SupplementaryGroups")
	if group := e.unit.Value("Group"); group != "" {
		groups = append(groups, group)
	}
	return found.WithGroups(groups...)
}
