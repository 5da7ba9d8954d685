package patches

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/patch"
	"syncd/internal/manifest"
)

// round makes what is missing, and removes what is of no use. It does nothing if nothing has
// changed since a round that left nothing to do.
func (m *Maker) round(ctx context.Context) error {
	settings := m.cfg.Settings()
	state := m.state(settings)
	if state == m.settled {
		return nil
	}
	r := round{Maker: m, settings: settings}
	defer r.close()
	err := r.prune()
	if err == nil {
		err = r.makeAll(ctx)
	}
	err = errors.Join(err, m.cfg.Store.save())
	r.tellNews(ctx)
	if err == nil { // what failed is tried again when something changes, and by the next start
		m.settled = state
	}
	return err
}

// state changes whenever a round may find something to do.
func (m *Maker) state(settings Settings) string {
	if !settings.isOn() {
		return "off"
	}
	var b strings.Builder
	fmt.Fprintln(&b, settings)
	current := m.cfg.Mirror.Current()
	for _, name := range current.Names() {
		fmt.Fprintln(&b, name, current.Records[name].ID(), m.cfg.Records.RevisionIDs(name))
	}
	return b.String()
}

// round is one walk through all that is served.
type round struct {
	*Maker
	settings Settings
	worker   *worker // nil for none
	news     bool    // since the last tellNews
	lacks    bool    // a patch needs more room
}

func (r *round) close() {
	if r.worker != nil {
		if lines := r.worker.close(); len(lines) > 0 {
			r.cfg.Log.Warn().Strs("lines", lines).Msg("the process that makes patches says something")
		}
		r.worker = nil
	}
}

func (r *round) tellNews(ctx context.Context) {
	if tell := r.tell.Load(); r.news && tell != nil {
		(*tell)(ctx)
	}
	r.news = false
}

// prune removes patches to contents that no revision has. Without settings, all go.
func (r *round) prune() error {
	stays := map[manifest.ObjectID]bool{}
	if r.settings.isOn() {
		current := r.cfg.Mirror.Current()
		for _, name := range current.Names() {
			for _, id := range r.cfg.Records.RevisionIDs(name) {
				record := current.Records[name]
				if record.ID() != id {
					var err error
					if record, err = r.cfg.Records.Revision(name, id); err != nil {
						continue // it is staged, or was just pruned
					}
				}
				for _, f := range record.Files {
					stays[f.Object] = true
				}
			}
		}
	}
	removed, err := r.cfg.Store.prune(func(id manifest.ObjectID) bool { return stays[id] })
	r.news = r.news || removed > 0
	return err
}

// makeAll makes the patches that are missing.
func (r *round) makeAll(ctx context.Context) error {
	if !r.settings.isOn() {
		return nil
	}
	var wants []want
	current := r.cfg.Mirror.Current()
	for _, name := range current.Names() {
		newest := current.Records[name]
		wants = append(wants, wholes(newest)...)
		for i, id := range r.earlier(name, newest.ID()) {
			if i == r.settings.From {
				break
			}
			earlier, err := r.cfg.Records.Revision(name, id)
			if err != nil {
				continue // pruned a moment ago
			}
			wants = append(wants, steps(newest, earlier, i)...)
		}
	}
	rank := 0
	for _, w := range arrange(wants) {
		if w.rank > rank {
			r.tellNews(ctx)
			rank = w.rank
		}
		select {
		case <-r.woken:
			return errWoken
		default:
		}
		if err := r.makeOne(ctx, w); err != nil {
			return err
		}
	}
	if r.lacks {
		return errNoRoom
	}
	return nil
}

// most is how many bytes a patch must stay below.
func (r *round) most(w want) int64 {
	most := int64(math.Ceil(float64(w.after.Size) * r.settings.MaxShare))
	whole := Pair{Old: bucket.Empty, New: w.after.Digest}
	if w.pair() == whole {
		return most
	}
	if size, found := r.cfg.Store.size(whole); found {
		most = min(most, size)
	}
	return most
}

// makeOne makes a patch unless it is there or known to be of no use. An error ends the round.
func (r *round) makeOne(ctx context.Context, w want) error {
	p, most := w.pair(), r.most(w)
	if size, found := r.cfg.Store.size(p); found {
		if size < most {
			return nil
		}
		r.news = true
		return r.cfg.Store.discard(p, size)
	}
	if size, known := r.cfg.Store.uselessSize(p); known && size >= most {
		return nil
	}
	if !r.isThere(p) {
		return nil
	}
	size, err := r.make(ctx, w, most)
	switch {
	case err == nil:
		r.news = true
		r.made.Add(1)
		return r.dropLarger(w, size)
	case errors.Is(err, ErrUseless):
		return r.cfg.Store.discard(p, most)
	case errors.Is(err, errGone):
		return nil
	case errors.Is(err, errTooLarge):
		r.lacks = true
		return nil
	case ctx.Err() != nil || errors.Is(err, errNoRoom) || errors.Is(err, errStart):
		return err
	}
	r.failed.Add(1)
	r.cfg.Log.Warn().Err(err).Stringer("old", p.Old).Stringer("new", p.New).Msg("making a patch failed; followers take the whole content meanwhile")
	return nil
}

// dropLarger removes patches to a content that the new compressed whole makes useless.
func (r *round) dropLarger(w want, whole int64) error {
	if w.before.Digest != bucket.Empty {
		return nil
	}
	for _, p := range r.cfg.Store.to(w.after.Digest) {
		if p.Old == bucket.Empty || p.Size < whole {
			continue
		}
		if err := r.cfg.Store.discard(Pair{Old: p.Old, New: p.New}, p.Size); err != nil {
			return err
		}
	}
	return nil
}

// isThere is true while both contents of a patch are on disk.
func (r *round) isThere(p Pair) bool {
	_, before := r.cfg.Objects.Find(p.Old)
	_, after := r.cfg.Objects.Find(p.New)
	return (before || p.Old == bucket.Empty) && after
}

// look is how often the maker looks whether a sync is running or needs the room.
const look = 100 * time.Millisecond

// make makes a patch of fewer bytes than most.
func (r *round) make(ctx context.Context, w want, most int64) (size int64, err error) {
	room := r.cfg.Room()
	if room <= 0 {
		return 0, errNoRoom
	}
	if lacked, known := r.lacked[w.pair()]; known && room < 2*lacked {
		return 0, errTooLarge
	}
	temp, path, err := r.cfg.Store.begin(w.pair())
	if err != nil {
		return 0, err
	}
	ctx, now := r.begin(ctx, w.pair())
	defer r.end(now)
	if r.worker == nil {
		if r.worker, err = startWorker(); err != nil {
			return 0, err
		}
	}
	watched := r.watch(ctx, now.stop)
	size, err = r.worker.make(ctx, job{Old: r.part(w.before), New: r.part(w.after), To: path, Most: min(most, room)}, r.cfg.Syncing())
	watched()
	if err == nil {
		return size, r.cfg.Store.keep(w.pair(), temp, size, func() bool { return ctx.Err() == nil && r.isThere(w.pair()) })
	}
	if ctx.Err() != nil || errors.Is(err, errWorker) {
		r.close() // the next patch has another one
	}
	r.cfg.Store.drop(temp)
	if errors.Is(err, ErrUseless) && room < most {
		r.lacked[w.pair()] = room
		return 0, errTooLarge
	}
	return 0, err
}

func (r *round) part(of patch.Identity) Part {
	if of.Digest == bucket.Empty {
		return Part{of, ""}
	}
	return Part{of, r.cfg.Objects.Path(of.Digest)}
}

// watch ends a patch while which the room is needed, and slows its making beside a sync, until
// the returned function is called.
func (r *round) watch(ctx context.Context, stop context.CancelCauseFunc) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(look):
			}
			_ = r.worker.tell(order{Slow: r.cfg.Syncing()}) // a worker that ended fails its job
			if r.cfg.Room() < 0 {
				stop(errNoRoom)
			}
		}
	}()
	return func() {
		cancel()
		<-watching
	}
}
