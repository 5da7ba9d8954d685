package doctor

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dustin/go-humanize/english"

	"syncd/internal/control"
	"syncd/internal/report"
	"syncd/internal/unitfile"
)

// checkDaemon asks the running daemon over its control socket.
func (e *examination) checkDaemon(ctx context.Context) []Finding {
	if err := e.dial(ctx); err != nil {
		return e.explainStopped(ctx, err)
	}
	if err := e.engine.Health(ctx, false); err != nil {
		return []Finding{failing(err, "restart syncd, and look at its log")}
	}
	if err := e.engine.Health(ctx, true); err != nil {
		return []Finding{hint("wait for the first sync; `syncd explain` shows it", "the daemon runs, but it is not ready: %v", err)}
	}
	return []Finding{good("the daemon runs and is ready")}
}

// dial connects to the daemon if it runs.
func (e *examination) dial(ctx context.Context) (err error) {
	if e.engine != nil {
		return nil
	}
	e.engine, err = control.Dial(ctx, filepath.Join(e.cfg.DataDir, "state"))
	if err != nil {
		e.engine = nil
	}
	return err
}

func (e *examination) explainStopped(ctx context.Context, err error) []Finding {
	if !errors.Is(err, control.ErrNotRunning) {
		return []Finding{hint("run this as root, or as the user that owns data_dir", "whether the daemon runs is not known: %v", err)}
	}
	start := "run `syncd run`, or `systemctl enable --now syncd` with the unit"
	if e.unit == nil {
		return []Finding{hint(start, "no daemon runs on %s", e.cfg.DataDir)}
	}
	if result := failedUnit(ctx); result != "" {
		return []Finding{failure("look at `journalctl -u syncd -n 50`; when the cause is mended, run `systemctl restart syncd`", "the daemon does not run: systemd says %s", result)}
	}
	return []Finding{hint("run `systemctl enable --now syncd`", "the daemon does not run")}
}

// failedUnit is what systemd says about a unit that failed or restarts again and again; ""
// where systemd does not run.
func failedUnit(ctx context.Context) string {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, netPatience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "systemctl", "show", "--property=ActiveState,SubState,Result,ExecMainStatus", unitfile.Name).Output()
	text := strings.Join(strings.Fields(string(out)), " ")
	if err != nil || !strings.Contains(text, "ActiveState=failed") && !strings.Contains(text, "SubState=auto-restart") {
		return ""
	}
	return text
}

// checkPort tries to listen as the daemon will, or to reach the daemon that runs.
func (e *examination) checkPort(ctx context.Context) []Finding {
	listen := e.cfg.HTTP.Listen
	if listen == "" {
		return []Finding{good("there is no web server")}
	}
	if e.dial(ctx) == nil {
		return e.reachWeb(ctx, listen)
	}
	err := e.worker.Do(func() error {
		listener, err := net.Listen("tcp", listen)
		if err == nil {
			err = listener.Close()
		}
		return err
	})
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return []Finding{failure("stop the program that `ss -ltnp` shows there, or choose another http.listen", "http.listen %s: another program uses the port", listen)}
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return []Finding{failure("choose an address that `ip address` shows, or a port alone, such as \":9797\"", "http.listen %s: this machine does not have the address", listen)}
	case errors.Is(err, syscall.EACCES):
		return []Finding{failure("choose a port from 1024 on", "http.listen %s: user %s may not use the port", listen, e.worker.Name)}
	case err != nil:
		return []Finding{failure("correct http.listen", "http.listen %s: %v", listen, err)}
	}
	return []Finding{good("http.listen %s is free", listen)}
}

func (e *examination) reachWeb(ctx context.Context, listen string) []Finding {
	host, port, _ := net.SplitHostPort(listen) // the configuration is checked
	if port == "0" {
		return []Finding{good("the daemon chose a port")}
	}
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = "localhost"
	}
	dialer := net.Dialer{Timeout: netPatience}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return []Finding{failure("restart syncd: a change of http.listen needs a restart", "the running daemon does not listen on http.listen %s: %v", listen, err)}
	}
	conn.Close()
	return []Finding{good("the daemon listens on %s", listen)}
}

// checkManifests looks at the state of each manifest.
func (e *examination) checkManifests(ctx context.Context) []Finding {
	status, err := e.Status(ctx, e.cfg)
	if err != nil {
		return []Finding{skipped("the state cannot be read: %v", err)}
	}
	var found []Finding
	for _, m := range status.Manifests {
		switch m.State {
		case report.StateFailed, report.StateRefused, report.StateQuarantined:
			found = append(found, failure("mend the cause, then run `syncd sync "+m.Name+"`", "%s: %s", m.Name, m.Explanation))
		case report.StateHeld, report.StateStaged, report.StateOrphaned, report.StatePending:
			found = append(found, hint("see `syncd explain "+m.Name+"`", "%s: %s", m.Name, m.Explanation))
		}
	}
	return orGood(found, "%s in sync", english.Plural(len(status.Manifests), "manifest is", "manifests are"))
}
