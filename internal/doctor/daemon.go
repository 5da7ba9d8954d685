//go:build linux

package doctor

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dustin/go-humanize/english"

	rules "syncd/deploy/prometheus"
	"syncd/internal/doctor/alert"
	"syncd/internal/engine/operation"
	"syncd/internal/host/unitfile"
	"syncd/internal/metrics"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/ui/control"
)

// checkDaemon asks the running daemon over its control socket.
func (d *daemon) checkDaemon(ctx context.Context) []Finding {
	if err := d.dial(ctx); err != nil {
		return d.explainStopped(ctx, err)
	}
	if d.isCommand {
		return []Finding{hint(d.startStep(), "no daemon runs on %s; a command works there now, such as `syncd sync`", d.cfg.DataDir)}
	}
	if err := operation.Alive.Ask(ctx, d.engine); err != nil {
		return []Finding{failure("restart syncd, and look at its log", "%v", err)} // its text may be that of another program
	}
	if err := operation.Ready.Ask(ctx, d.engine); err != nil {
		return []Finding{hint("wait for the first sync; `syncd explain` shows it", "the daemon runs, but it is not ready: %v", err)}
	}
	return []Finding{good("the daemon runs and is ready")}
}

// dial connects to the daemon if it runs.
func (d *daemon) dial(ctx context.Context) (err error) {
	if d.engine != nil {
		return nil
	}
	d.engine, err = control.Dial(ctx, filepath.Join(d.cfg.DataDir, "state"))
	if err != nil {
		d.engine = nil
		return err
	}
	status, err := operation.Status.Ask(ctx, d.engine)
	d.isCommand = err == nil && !status.Daemon // a daemon that does not answer is looked at later
	return nil
}

// startStep starts a daemon.
func (d *daemon) startStep() string {
	if d.unit == nil {
		return "run `syncd run`, or `systemctl enable --now syncd` with the unit"
	}
	return "run `systemctl enable --now syncd`"
}

func (d *daemon) explainStopped(ctx context.Context, err error) []Finding {
	if !errors.Is(err, control.ErrNotRunning) {
		return []Finding{hint("run this as root, or as the user that owns data_dir", "whether the daemon runs is not known: %v", err)}
	}
	if d.unit == nil {
		return []Finding{hint(d.startStep(), "no daemon runs on %s", d.cfg.DataDir)}
	}
	if result := failedUnit(ctx); result != "" {
		return []Finding{failure("look at `journalctl -u syncd -n 50`; when the cause is mended, run `systemctl restart syncd`", "the daemon does not run: systemd says %s", result)}
	}
	return []Finding{hint(d.startStep(), "the daemon does not run")}
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
func (d *daemon) checkPort(ctx context.Context) (found []Finding) {
	addresses := [][2]string{{"http.listen", d.cfg.HTTP.Listen}, {"serve.listen", d.cfg.Serve.Listen}}
	if d.dial(ctx) == nil && !d.isCommand {
		for _, a := range addresses {
			found = append(found, d.reachPort(ctx, a[0], a[1])...)
		}
		return orGood(found, "there is no web server")
	}
	for _, a := range addresses {
		f, release := d.tryPort(a[0], a[1])
		defer release() // after both: the daemon needs them at the same time
		found = append(found, f...)
	}
	return orGood(found, "there is no web server")
}

// tryPort listens until release is called.
func (d *daemon) tryPort(key, listen string) (found []Finding, release func()) {
	release = func() {}
	if listen == "" {
		return nil, release
	}
	err := d.worker.Do(func() error {
		listener, err := net.Listen("tcp", listen)
		if err == nil {
			release = func() { listener.Close() }
		}
		return err
	})
	switch {
	case err == nil, errors.Is(err, syscall.EACCES) && d.mayUseLowPorts():
		return []Finding{good("%s %s is free", key, listen)}, release
	case errors.Is(err, syscall.EADDRINUSE):
		return []Finding{failure("stop the program that `ss -ltnp` shows there, or choose another "+key, "%s %s: another program uses the port, or another key names it", key, listen)}, release
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return []Finding{failure("choose an address that `ip address` shows, or a port alone, such as \":9797\"", "%s %s: this machine does not have the address", key, listen)}, release
	case errors.Is(err, syscall.EACCES):
		return []Finding{failure("choose a port from 1024 on", "%s %s: user %s may not use the port", key, listen, d.worker.Name)}, release
	}
	return []Finding{failure("correct "+key, "%s %s: %v", key, listen, err)}, release
}

// mayUseLowPorts is true for a unit that lets its user use ports below 1024.
func (d *daemon) mayUseLowPorts() bool {
	return d.unit != nil && slices.Contains(d.unit.Words("AmbientCapabilities"), "CAP_NET_BIND_SERVICE") && !d.unit.IsOn("PrivateUsers")
}

func (d *daemon) reachPort(ctx context.Context, key, listen string) []Finding {
	if listen == "" {
		return nil
	}
	if _, port, _ := net.SplitHostPort(listen); port == "0" { // the configuration is checked
		return []Finding{good("the daemon chose a port for %s", key)}
	}
	dialer := net.Dialer{Timeout: netPatience}
	conn, err := dialer.DialContext(ctx, "tcp", listen) // for no address, Dial means this host
	if err != nil {
		return []Finding{failure("restart syncd: a change of "+key+" needs a restart", "the running daemon does not listen on %s %s: %v", key, listen, err)}
	}
	conn.Close()
	return []Finding{good("the daemon listens on %s %s", key, listen)}
}

// mendStep is what to do when `current` or its generation is damaged.
const mendStep = "run `syncd sync`, which rebuilds what is missing from what is on disk, then `syncd verify`, which reads every served file"

// checkManifests looks at the state of each manifest.
func (d *daemon) checkManifests(ctx context.Context) []Finding {
	status, err := d.Status(ctx, d.cfg)
	broken, isBroken := errors.AsType[*mirror.BrokenError](err)
	switch {
	case isBroken:
		return []Finding{failure(mendStep, "%v", broken)}
	case err != nil:
		return []Finding{skipped("the state cannot be read: %v", err)}
	case strings.Contains(status.Damage, "restart syncd"):
		return []Finding{failure("restart syncd, then run `syncd verify`, which reads every served file", "%s", status.Damage)}
	case status.Damage != "":
		return []Finding{failure(mendStep, "%s", status.Damage)}
	}
	var found []Finding
	for _, m := range status.Manifests {
		switch next := "see `syncd explain " + word(m.Name) + "`"; {
		case m.State == report.StateExpired:
			found = append(found, failure("wait for a newer release; if the licence permits it all the same, run `syncd sync --force "+word(m.Name)+"`", "%s: %s", m.Name, m.Explanation))
		case m.Probe != nil && m.Probe.State == report.ProbeFailed:
			found = append(found, failure("mend the consumer or the probe, then run `syncd activate --again "+word(m.Name)+"`", "%s: %s", m.Name, m.Explanation))
		case slices.Contains([]report.State{report.StateFailed, report.StateRefused, report.StateQuarantined}, m.State):
			found = append(found, failure("mend the cause, then run `syncd sync "+word(m.Name)+"`", "%s: %s", m.Name, m.Explanation))
		case m.Expired && !m.KeptByForce:
			found = append(found, failure("sync a newer release; `on_expiry: withdraw` takes expired data out of service by itself", "%s: %s", m.Name, m.Explanation))
		case m.State != report.StateInSync && m.State != report.StateSyncing, m.Expiring, m.ExpiryDoubt != "":
			found = append(found, hint(next, "%s: %s", m.Name, m.Explanation))
		}
	}
	return orGood(found, "%s in sync", english.Plural(len(status.Manifests), "manifest is", "manifests are"))
}

// checkAlerts judges the shipped alerts by the metrics of the running daemon.
func (d *daemon) checkAlerts(ctx context.Context) []Finding {
	if d.engine == nil || d.isCommand {
		return []Finding{skipped("not checked, because no daemon runs")}
	}
	samples, err := operation.Samples.Ask(ctx, d.engine)
	if err != nil {
		return []Finding{skipped("the running daemon does not tell its metrics: %v", err)}
	}
	all, err := alert.Parse(rules.Rules)
	if err != nil {
		return []Finding{failing(err, "report this as a bug")}
	}
	return orGood(judge(all, asWords(samples), time.Now()), "no alert would fire")
}

// asWords makes the labels safe for the commands of next steps.
func asWords(samples []metrics.Sample) []metrics.Sample {
	for _, s := range samples {
		for name, value := range s.Labels {
			s.Labels[name] = word(value)
		}
	}
	return samples
}

// briefly is the longest time that an alert may wait for and still count as firing now: one
// look does not tell how long the expression has held.
const briefly = 15 * time.Minute

func judge(all []alert.Rule, samples []metrics.Sample, now time.Time) (found []Finding) {
	for _, rule := range all {
		alerts, err := rule.Judge(samples, now)
		if err != nil && !errors.Is(err, alert.ErrUnjudged) {
			found = append(found, failing(err, "report this as a bug"))
		}
		for _, a := range alerts {
			if a.Lasting() > briefly {
				found = append(found, hint(a.Description, "%s would fire if this lasts for %s: %s", a.Name, a.For, a.Summary))
			} else {
				found = append(found, failure(a.Description, "%s would fire: %s", a.Name, a.Summary))
			}
		}
	}
	return found
}
