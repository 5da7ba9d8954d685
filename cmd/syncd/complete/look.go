package complete

import (
	"context"
	"slices"
	"time"

	"syncd/cmd/syncd/cli"
	"syncd/internal/config"
	"syncd/internal/disk/durable"
	"syncd/internal/engine"
	"syncd/internal/engine/operation"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/status"
	"syncd/internal/store"
	"syncd/internal/ui/control"
)

// A person waits at the prompt for a daemon, and for another process that has the state.
const (
	daemonPatience = time.Second
	statePatience  = 50 * time.Millisecond
)

// look is what one completion can look at.
type look struct {
	ctx    context.Context
	app    *cli.App
	cfg    *config.Config
	mirror *mirror.Mirror // nil when the data directory cannot be read
}

// newLook returns nil without a usable configuration.
func newLook(ctx context.Context, a *cli.App) *look {
	cfg, err := a.LoadSource()
	if err != nil {
		return nil
	}
	l := &look{ctx: ctx, app: a, cfg: cfg}
	if m, err := mirror.Open(cfg.DataDir, &durable.Disk{}); err == nil && m.Root() != nil {
		l.mirror = m
	}
	return l
}

func (l *look) close() {
	if l.mirror != nil {
		_ = l.mirror.Close() // it was only read
	}
}

// ask asks the running engine, or the disk when none is running.
func ask[T any](l *look, q operation.Query[T], fromDisk func(*mirror.Mirror, status.StateReader) (T, error)) (answer T) {
	ctx, cancel := context.WithTimeout(l.ctx, daemonPatience)
	defer cancel()
	if client, err := control.Dial(ctx, cli.StateDir(l.cfg)); err == nil {
		defer client.Close()
		answer, _ = q.Ask(ctx, client) // the zero value has nothing to offer
		return answer
	}
	if l.mirror == nil {
		return answer
	}
	if s, err := store.OpenReadOnly(l.mirror.Root(), engine.StateFile, statePatience); err == nil {
		defer s.Close()
		answer, _ = fromDisk(l.mirror, s)
		return answer
	}
	answer, _ = fromDisk(l.mirror, nil)
	return answer
}

func (l *look) status() report.Status {
	return ask(l, operation.Status, func(m *mirror.Mirror, s status.StateReader) (report.Status, error) {
		return engine.StatusOnDisk(l.cfg, m, s)
	})
}

func (l *look) deliveries() []report.Delivery {
	return ask(l, operation.Deliveries, func(_ *mirror.Mirror, s status.StateReader) (report.Deliveries, error) {
		if s == nil {
			return report.Deliveries{}, nil
		}
		return engine.DeliveriesOnDisk(l.cfg, s)
	}).Deliveries
}

// served are the records of the served manifests, by their names.
func (l *look) served() map[string]mirror.Record {
	if l.mirror == nil {
		return nil
	}
	return l.mirror.Current().Records
}

// generations are those on disk that are not served, the newest first.
func (l *look) generations() []mirror.Generation {
	if l.mirror == nil {
		return nil
	}
	all, err := l.mirror.Generations.All()
	if err != nil {
		return nil
	}
	current := l.mirror.Current().Number
	all = slices.DeleteFunc(all, func(g mirror.Generation) bool { return g.Number == current })
	slices.SortFunc(all, func(a, b mirror.Generation) int { return b.Number - a.Number })
	return all
}
