package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"syncd/internal/config"
	"syncd/internal/golive"
	"syncd/internal/host/clock"
	"syncd/internal/manifest/expiry"
	"syncd/internal/mirror"
	"syncd/internal/mirror/lifespan"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/report/status"
	"syncd/internal/store"
)

// newWitness returns what knows the time beside this machine's clock, also from what earlier
// processes saw.
func newWitness(s *store.Store, warn func(string)) (*clock.Witness, error) {
	seen, err := s.Dated()
	return clock.NewWitness(presentOf(seen), func(p expiry.Present) {
		dated := store.Dated{Header: p.Header.UTC(), SeenAt: p.SeenAt.UTC(), Issued: p.Issued.UTC(), Steady: p.Steady.UTC(), LookedAt: p.LookedAt.UTC()}
		if err := s.SetDated(dated); err != nil {
			warn("saving the time of the provider failed, and a restart does not know it: " + err.Error())
		}
	}), err
}

// presentOf is what was saved, without the present time.
func presentOf(d store.Dated) expiry.Present {
	return expiry.Present{Header: d.Header, SeenAt: d.SeenAt, Issued: d.Issued, Steady: d.Steady, LookedAt: d.LookedAt}
}

// Ages act on the age of data.
type Ages struct {
	*base
	engine *Engine

	mu     sync.Mutex // guards failed
	failed string     // the last error, "" after a success
}

// Expire does what follows from the age of data: hooks hear of it, and what is configured so
// leaves `current`. It is called after syncs and now and then, because days pass by
// themselves.
func (g *Ages) Expire(ctx context.Context) (gone withdrawn) {
	e, result := g.engine, &gone.Sync
	a := e.begin()
	defer e.finish(a)
	e.witness.Pass(a.config.Source.Bundles != "")
	tree := a.syncer.Tree()
	if len(golive.Aging(tree)) == 0 {
		return gone
	}
	err := e.work(ctx, func() (err error) {
		*result, err = golive.Withdraw(ctx, tree)
		if err == nil && result.Changed {
			result.Upload = e.Uploads.Upload(ctx)
		}
		if told := e.Hooks.outbox.NotifyAging(golive.Aging(tree)); err == nil {
			err = told
		}
		return err
	})
	if ctx.Err() == nil && g.isNew(err) {
		e.options.Log.Error().Err(err).Msg("acting on the age of data failed; the next attempt comes within a minute, or with the next sync")
	}
	return gone
}

// isNew is true for an error that is not the one before.
func (g *Ages) isNew(err error) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.failed
	if g.failed = ""; err != nil {
		g.failed = err.Error()
	}
	return err != nil && g.failed != before
}

// withdrawn is what Expire took out of `current`.
type withdrawn struct{ report.Sync }

// addTo adds it to the result of a sync that came before.
func (w withdrawn) addTo(result *report.Sync) {
	if !w.Changed {
		return
	}
	result.Generation, result.Changed = w.Generation, true
	result.Removed = append(result.Removed, w.Removed...)
	result.Views, result.Exports = report.AddViews(result.Views, w.Views), report.AddExports(result.Exports, w.Exports)
	for i := range result.Manifests {
		if m := &result.Manifests[i]; slices.Contains(w.Removed, m.Name) {
			m.Release, m.Revision = "", ""
		}
	}
}

// ages is what is known of the age of data, and of the present time.
type ages struct {
	facts map[string]lifespan.Facts
	now   expiry.Present
}

// agesOnDisk is for when no engine is running; state is nil when there is no state database.
func agesOnDisk(m *mirror.Mirror, state status.StateReader) (a ages, err error) {
	var seen store.Dated
	if state != nil {
		if seen, err = state.Dated(); err != nil {
			return a, err
		}
	}
	a.now = presentOf(seen).Look(time.Now())
	a.facts, err = lifespan.Read(m.Root())
	return a, err
}

func (a ages) of(m config.Manifest, served mirror.Record) status.Age {
	return status.AgeOf(m.Expires, served, a.facts[m.Name], a.now)
}

// blocks says why an expired staged revision does not go live, "" for another one.
func (a ages) blocks(m config.Manifest, e staging.Revision) string {
	day := m.Expires.Day(e.Release, a.facts[m.Name].Told[e.ID()])
	if !e.IsStaged() || !a.now.IsPast(day) {
		return ""
	}
	return fmt.Sprintf("it expired on %s, and goes live only with `syncd activate --force %s`", day, m.Name)
}
