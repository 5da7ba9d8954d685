package doctor

import (
	"context"
	"errors"
	"os"

	"syncd/internal/account"
)

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
		return []Finding{skippedUntil("run this as root, or as "+e.worker.Name, "the permissions of user %s are not checked, because this runs as %s", e.worker.Name, account.Self().Name)}
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
