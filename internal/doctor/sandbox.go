//go:build linux

package doctor

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"syncd/internal/engine"
	"syncd/internal/host/account"
	"syncd/internal/host/unitfile"
)

// checkSandbox compares what the configuration needs with what the unit permits.
func (e *examination) checkSandbox(context.Context) []Finding {
	if e.unit == nil {
		return []Finding{good("no unit to check")}
	}
	found := e.needWritable("data_dir", e.cfg.DataDir)
	for _, t := range engine.Exports(e.cfg) {
		found = append(found, e.needWritable("the folder above the export of view "+t.View, filepath.Dir(t.Path))...)
	}
	for _, path := range e.unit.Missing() {
		found = append(found, failure("make that folder, owned by user "+e.worker.Name, "the unit has ReadWritePaths=%s, which does not exist: systemd does not start the daemon", path))
	}
	if access, why := e.unit.Access(e.cfg.Path); access == unitfile.Hidden {
		found = append(found, failure("move it to /etc/syncd", "the unit hides %s from the daemon (%s)", e.cfg.Path, why))
	}
	for _, f := range e.namedFiles() {
		if access, why := e.unit.Access(f.path); f.path != "" && access == unitfile.Hidden {
			found = append(found, failure("move it to /etc/syncd, and correct "+f.key, "%s: the unit hides that file from the daemon (%s)", f.key, why))
		}
	}
	for _, c := range e.commands() {
		if filepath.IsAbs(c.program) && !e.unit.MayExecute(c.program) {
			found = append(found, failure(dropIn("ExecPaths="+c.program)+", or move it to /usr/local/bin", "%s: the unit does not let the daemon run %s (NoExecPaths=)", c.key, c.program))
		}
	}
	found = append(found, e.needGroup()...)
	return orGood(found, "the unit permits what the configuration needs")
}

// namedFile is a file that the daemon reads.
type namedFile struct{ key, path string }

// namedFiles are those that the configuration and the unit's environment name, "" for none.
func (e *examination) namedFiles() []namedFile {
	c := e.cfg
	files := []namedFile{
		{"source.ca_file", c.Source.CAFile}, {"source.client_cert", c.Source.ClientCert}, {"source.client_key", c.Source.ClientKey},
		{"source.customer_id_file", c.Source.Credential.File()},
		{"http.web_config", c.HTTP.WebConfig}, {"serve.web_config", c.Serve.WebConfig}, {"serve.ids_file", c.Serve.IDsFile},
	}
	if (c.Source.S3.IsSet() || c.Publish.S3.IsSet()) && e.keyCredential == "" {
		files = append(files, namedFile{sharedVariable, os.Getenv(sharedVariable)})
	}
	return files
}

// needGroup looks whether files can get the configured group. With PrivateUsers=, the
// daemon has a user namespace without any groups but root's and that of the unit.
func (e *examination) needGroup() []Finding {
	group := e.cfg.Permissions.Group
	if group <= 0 || !e.unit.IsOn("PrivateUsers") {
		return nil
	}
	ofUnit, err := account.Account{}.WithGroups(cmp.Or(e.unit.Value("Group"), strconv.Itoa(e.worker.GID)))
	if err != nil || slices.Contains(ofUnit.Groups, group) {
		return nil
	}
	return []Finding{failure(dropIn("PrivateUsers=no"), "permissions.group: the unit's user namespace has no group %d (PrivateUsers=)", group)}
}

func (e *examination) needWritable(what, path string) []Finding {
	access, why := e.unit.Access(path)
	next := dropIn(fmt.Sprintf("ReadWritePaths=%s and NoExecPaths=%s", path, path))
	switch {
	case access == unitfile.Writable:
		return nil
	case access == unitfile.Hidden:
		return []Finding{failure("choose a folder elsewhere, such as /var/lib/syncd or one in /srv", "%s %s: the unit hides that folder from the daemon (%s)", what, path, why)}
	}
	return []Finding{failure(next, "%s %s: the unit lets the daemon only read there (%s)", what, path, why)}
}

// dropIn is the step that adds a setting to the unit.
func dropIn(setting string) string {
	return fmt.Sprintf("run `systemctl edit syncd` and add %s below [Service]", setting)
}

// neededDescriptors are enough for 512 connections to the provider, 200 of web clients,
// and the files of a sync.
const neededDescriptors = 1024

// checkDescriptors looks at the hard limit, which Go programs use.
func (e *examination) checkDescriptors(context.Context) []Finding {
	limit, ofUnit := uint64(0), false
	if e.unit != nil {
		limit, ofUnit = hardLimit(e.unit.Value("LimitNOFILE"))
	}
	next := dropIn("LimitNOFILE=65536")
	if e.unit == nil {
		next = "raise it with `ulimit -n`, or that of the container"
	}
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil && !ofUnit {
		return []Finding{skipped("the limit cannot be read: %v", err)}
	}
	if !ofUnit {
		limit = own.Max
	}
	if limit < neededDescriptors {
		return []Finding{failure(next, "at most %d files may be open, syncd needs %d", limit, neededDescriptors)}
	}
	return []Finding{good("enough files may be open")}
}

// hardLimit reads N, SOFT:HARD or infinity; ok is false for nothing.
func hardLimit(text string) (limit uint64, ok bool) {
	hard := text[strings.LastIndexByte(text, ':')+1:]
	if hard == "infinity" {
		return math.MaxUint64, true
	}
	limit, err := strconv.ParseUint(hard, 10, 64)
	return limit, err == nil
}
