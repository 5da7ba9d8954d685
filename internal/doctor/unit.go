//go:build linux

package doctor

import (
	"cmp"
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
func (s *setup) checkUnit(context.Context) []Finding {
	u, err := unitfile.Find(unitfile.Name, unitfile.Dirs(s.Getenv))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []Finding{hint("install the package or deploy/systemd/syncd.service; in a container no unit is needed", "no systemd unit %s is installed", unitfile.Name)}
	case err != nil:
		return []Finding{failure("check that file with `systemd-analyze verify`", "%v", err)}
	case u.IsMasked:
		return []Finding{hint("run `systemctl unmask syncd`", "the systemd unit %s is masked", u.Path)}
	}
	environ, err := u.Environment()
	if uses := u.ConfigFile(environ); uses != s.ConfigFile && (!unitfile.IsSameFile(uses, s.ConfigFile) || isOfAnother(s.ConfigFile, u.Value("User"))) {
		return []Finding{hint("run `syncd --config "+uses+" doctor` for the unit", "the unit %s uses %s, not %s; it is not checked", u.Path, uses, s.ConfigFile)}
	}
	s.unit, s.environ = u, environ
	s.isBlind = errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0
	s.adoptEnvironment()
	found := s.checkProgram()
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		found = append(found, skippedUntil("run this as root", "unit %s: this user cannot read all of its environment: %v", u.Path, err))
	} else if err != nil {
		found = append(found, failure("make that file, or correct the unit: systemd does not start the daemon without it", "unit %s: %v", u.Path, err))
	}
	return orGood(found, "%s runs syncd with this configuration", u.Path)
}

// isOfAnother is true for a path on which another user than the unit's can put something else
// at any time, also after a look at it.
func isOfAnother(path, unitUser string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	changer, err := account.ChangerOf(path, info)
	return err != nil || changer.IsOther() && changer.Name != unitUser
}

func (s *setup) checkProgram() []Finding {
	command := s.unit.Command()
	if len(command) == 0 {
		return []Finding{failure("install the unit that syncd ships", "unit %s has no ExecStart=", s.unit.Path)}
	}
	info, err := os.Stat(command[0])
	if err != nil || info.Mode()&0o111 == 0 {
		return []Finding{failure("install syncd there, or correct ExecStart=", "the unit starts %s, which is no program", command[0])}
	}
	if s.unit.IsOn("DynamicUser") {
		return []Finding{hint("use a static user, as the shipped unit does", "unit %s has DynamicUser=, which hides the data from readers", s.unit.Path)}
	}
	return nil
}

// daemonEnv is the environment in which the daemon reads the configuration: that of the
// unit, or else of this process.
func (s *setup) daemonEnv() func(string) string {
	if s.unit == nil {
		return s.Getenv
	}
	environ := maps.Clone(s.environ)
	if path, _ := s.unit.Credential(unitfile.IDCredential); filepath.Base(path) == unitfile.IDCredential {
		environ["CREDENTIALS_DIRECTORY"] = filepath.Dir(path) // as systemd makes one
	} else if id, _, err := fsops.ReadRegular(path, maxID); err == nil {
		environ[idVariable] = string(id)
	}
	return func(name string) string { return environ[name] }
}

// adoptEnvironment makes this process use the proxy and the credentials for S3 of the unit:
// those of a shell say nothing about the daemon.
func (s *setup) adoptEnvironment() {
	for _, upper := range []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"} {
		for _, name := range []string{upper, strings.ToLower(upper)} {
			if s.environ[name] == "" && s.Getenv(name) != "" && upper != "NO_PROXY" {
				s.shellProxy = name
			}
			os.Setenv(name, s.environ[name])
		}
	}
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); isOfStorage(name) {
			os.Unsetenv(name)
		}
	}
	for name, value := range s.environ {
		if isOfStorage(name) {
			os.Setenv(name, value)
		}
	}
	os.Setenv("HOME", s.unitHome())
	if s.keyCredential = credentialName(os.Getenv(sharedVariable)); s.keyCredential != "" {
		path, isOpaque := s.unit.Credential(s.keyCredential)
		s.isBlind = s.isBlind || isOpaque
		os.Setenv(sharedVariable, path)
		os.Setenv("AWS_CONFIG_FILE", os.DevNull) // the keys come from the credential, and not from the daemon's home
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
func (s *setup) unitHome() string {
	if home := s.environ["HOME"]; home != "" {
		return home
	}
	if found, err := user.Lookup(s.unit.Value("User")); err == nil {
		return found.HomeDir
	}
	return ""
}

// checkUser finds out who reads the configuration and who works in data_dir. The daemon
// starts as the unit's user. Started as root, it becomes the owner of data_dir.
func (s *setup) checkUser(context.Context) []Finding {
	starter, err := s.findStarter()
	if errors.Is(err, account.ErrNoGroup) {
		return []Finding{failure("run `groupadd --system` with its name, or take Group= out of the unit", "%v", err)}
	}
	if err != nil {
		return []Finding{failure("run `useradd --system --home-dir /var/lib/syncd --shell /usr/sbin/nologin syncd`, or name another user", "%v", err)}
	}
	s.starter, s.worker = starter, starter
	if starter.UID == 0 {
		if info, err := os.Stat(s.cfg.DataDir); err == nil {
			if s.worker, err = account.OwnerOf(info); err != nil {
				return []Finding{failing(err, "check /etc/passwd and /etc/group")}
			}
		}
	}
	if !s.worker.CanDo() {
		next := "run this as root"
		if s.worker.UID != 0 {
			next += ", or as " + s.worker.Name
		}
		return []Finding{skippedUntil(next, "the permissions of user %s are not checked, because this runs as %s", s.worker.Name, account.Self().Name)}
	}
	return []Finding{good("permissions are checked for user %s", s.worker.Name)}
}

func (s *setup) findStarter() (account.Account, error) {
	switch {
	case s.User != "":
		return account.Named(s.User)
	case s.unit == nil:
		return account.Self(), nil
	}
	name := s.unit.Value("User")
	name = cmp.Or(name, "root")
	found, err := account.Named(name)
	if err != nil {
		return found, err
	}
	groups := s.unit.Words("SupplementaryGroups")
	if group := s.unit.Value("Group"); group != "" {
		groups = append(groups, group)
	}
	return found.WithGroups(groups...)
}
