package doctor

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"syncd/internal/unitfile"
)

const idVariable = "SYNCD_CUSTOMER_ID"

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
	e.adoptProxy()
	found := e.checkProgram()
	if err != nil {
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
	} else if id, err := os.ReadFile(path); err == nil {
		environ[idVariable] = string(id)
	}
	return func(name string) string { return environ[name] }
}

// adoptProxy makes this process use the proxy of the unit: that of a shell says nothing
// about the daemon.
func (e *examination) adoptProxy() {
	for _, upper := range []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"} {
		for _, name := range []string{upper, strings.ToLower(upper)} {
			if e.environ[name] == "" && e.Getenv(name) != "" && upper != "NO_PROXY" {
				e.shellProxy = name
			}
			os.Setenv(name, e.environ[name])
		}
	}
}
