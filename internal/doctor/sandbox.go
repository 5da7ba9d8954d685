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

	"syncd/internal/config"
	"syncd/internal/engine"
	"syncd/internal/host/account"
	"syncd/internal/host/unitfile"
)

// checkSandbox compares what the configuration needs with what the unit permits.
func (s *setup) checkSandbox(context.Context) []Finding {
	if s.unit == nil {
		return []Finding{good("no unit to check")}
	}
	found := s.needWritable("data_dir", s.cfg.DataDir)
	for _, t := range engine.Exports(s.cfg) {
		found = append(found, s.needWritable("the folder above the export of view "+t.View, filepath.Dir(t.Path))...)
	}
	for _, path := range s.unit.Missing() {
		found = append(found, failure("make that folder, owned by user "+s.worker.Name, "the unit has ReadWritePaths=%s, which does not exist: systemd does not start the daemon", path))
	}
	if access, why := s.unit.Access(s.cfg.Path); access == unitfile.Hidden {
		found = append(found, failure("move it to /etc/syncd", "the unit hides %s from the daemon (%s)", s.cfg.Path, why))
	}
	for _, f := range s.namedFiles() {
		if access, why := s.unit.Access(f.path); f.path != "" && access == unitfile.Hidden {
			found = append(found, failure("move it to /etc/syncd, and correct "+f.key, "%s: the unit hides that file from the daemon (%s)", f.key, why))
		}
	}
	for _, c := range s.commands() {
		if filepath.IsAbs(c.program) && !s.unit.MayExecute(c.program) {
			found = append(found, failure(dropIn("ExecPaths="+c.program)+", or move it to /usr/local/bin", "%s: the unit does not let the daemon run %s (NoExecPaths=)", c.key, c.program))
		}
	}
	found = append(found, s.needGroup()...)
	return orGood(found, "the unit permits what the configuration needs")
}

// namedFile is a file that the daemon reads.
type namedFile struct{ key, path string }

// namedFiles are those that the configuration and the unit's environment name, "" for none.
func (s *setup) namedFiles() []namedFile {
	c := s.cfg
	files := []namedFile{
		{"sign.key_file", c.Sign.KeyFile}, {"sign.trust_file", c.Sign.TrustFile},
		{"http.web_config", c.HTTP.WebConfig}, {"serve.web_config", c.Serve.WebConfig}, {"serve.ids_file", c.Serve.IDsFile},
	}
	_ = c.EachSource(func(key string, of *config.Source) error { // fails never
		files = append(files, namedFile{key + ".ca_file", of.CAFile}, namedFile{key + ".client_cert", of.ClientCert}, namedFile{key + ".client_key", of.ClientKey},
			namedFile{key + ".trust_file", of.TrustFile}, namedFile{key + ".customer_id_file", of.Credential.File()})
		return nil
	})
	if c.UsesS3() && s.keyCredential == "" {
		files = append(files, namedFile{sharedVariable, os.Getenv(sharedVariable)})
	}
	return files
}

// needGroup looks whether files can get the configured group. With PrivateUsers=, the
// daemon has a user namespace without any groups but root's and that of the unit.
func (s *setup) needGroup() []Finding {
	group := s.cfg.Permissions.Group
	if group <= 0 || !s.unit.IsOn("PrivateUsers") {
		return nil
	}
	ofUnit, err := account.Account{}.WithGroups(cmp.Or(s.unit.Value("Group"), strconv.Itoa(s.worker.GID)))
	if err != nil || slices.Contains(ofUnit.Groups, group) {
		return nil
	}
	return []Finding{failure(dropIn("PrivateUsers=no"), "permissions.group: the unit's user namespace has no group %d (PrivateUsers=)", group)}
}

func (s *setup) needWritable(what, path string) []Finding {
	access, why := s.unit.Access(path)
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
func (s *setup) checkDescriptors(context.Context) []Finding {
	limit, ofUnit := uint64(0), false
	if s.unit != nil {
		limit, ofUnit = hardLimit(s.unit.Value("LimitNOFILE"))
	}
	next := dropIn("LimitNOFILE=65536")
	if s.unit == nil {
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
