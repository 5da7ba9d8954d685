package syncer

import (
	"cmp"
	"context"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"

	"syncd/internal/manifest"
	"syncd/internal/store"
	"syncd/internal/verify"
)

// trust tells which objects on disk need not be read again before a plan reuses
// them: those that look as they did when they were proven. It belongs to one sync.
type trust struct {
	load    sync.Once
	kept    map[string]*store.Proofs // by earlier syncs, of each manifest
	reading sync.Mutex               // held while objects are read, with all cores

	mu     sync.Mutex
	proven map[manifest.ObjectID]store.Proof // by reading them in this sync
	wrong  map[manifest.ObjectID]bool        // read, and not what the name says
}

// standing is what a sync thinks of an object.
type standing int

const (
	trusted  standing = iota
	doubtful          // it does not look as it did when it was proven, or nobody knows how that was
	damaged
)

// of looks at the file of an object that was there.
func (t *trust) of(r *run, id manifest.ObjectID) standing {
	info, there := r.Mirror.ObjectInfo(id)
	if !there {
		return damaged // it went away meanwhile
	}
	t.mu.Lock()
	isWrong := t.wrong[id]
	t.mu.Unlock()
	if isWrong {
		return damaged
	}
	now := proofOf(info)
	if then, known := t.proof(r, id, now); known && then == now {
		return trusted
	}
	return doubtful
}

// proof is how an object looked when it was proven. When several are known, it is
// the one that is so now.
func (t *trust) proof(r *run, id manifest.ObjectID, now store.Proof) (then store.Proof, known bool) {
	t.mu.Lock()
	then, known = t.proven[id]
	t.mu.Unlock()
	if known {
		return then, true
	}
	t.load.Do(func() {
		kept, err := r.Store.Proofs()
		if err != nil {
			r.Log.Warn().Err(err).Msg("not known which objects were proven: they are read again")
		}
		t.kept = kept
	})
	for _, kept := range t.kept {
		if p, ok := kept.Of(id); ok {
			then, known = p, true
			if p == now {
				break
			}
		}
	}
	return then, known
}

// read proves objects by reading them, the largest first. What is not what its
// name says counts as missing from here on. The error is the context's.
func (t *trust) read(ctx context.Context, r *run, name string, objects []manifest.Object) error {
	t.reading.Lock() // what another manifest is reading need not be read twice
	defer t.reading.Unlock()
	slices.SortFunc(objects, func(a, b manifest.Object) int { return cmp.Compare(b.Size, a.Size) })
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, object := range objects {
		if t.of(r, object.ID) != doubtful {
			continue
		}
		group.Go(func() error { return t.readOne(ctx, r, name, object.ID) })
	}
	return group.Wait()
}

func (t *trust) readOne(ctx context.Context, r *run, name string, id manifest.ObjectID) error {
	info, there := r.Mirror.ObjectInfo(id) // before the reading: what changes during it must show
	_, err := verify.File(ctx, r.Mirror.ObjectPath(id), id.Digest())
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil && there {
		t.prove(id, info)
		return nil
	}
	t.mu.Lock()
	if t.wrong == nil {
		t.wrong = map[manifest.ObjectID]bool{}
	}
	t.wrong[id] = true
	t.mu.Unlock()
	r.Metrics.VerifyFailed(name)
	r.Log.Warn().Err(err).Str("manifest", name).Stringer("object", id).
		Msg("an object on disk is not what its name says: it is fetched again; `syncd verify` looks at what is served")
	return nil
}

// prove notes how an object looked before it was read and found right.
func (t *trust) prove(id manifest.ObjectID, info os.FileInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.proven == nil {
		t.proven = map[manifest.ObjectID]store.Proof{}
	}
	t.proven[id] = proofOf(info)
}

// proofOf is how a file looks. Its time of change is no part of it: that moves
// with each link.
func proofOf(info os.FileInfo) store.Proof {
	p := store.Proof{Size: info.Size(), ModTime: info.ModTime().UnixNano()}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		p.Inode = stat.Ino
	}
	return p
}

// proofs are those of the objects that a job has: as they were when the plan
// trusted them, and as they are now of those that arrived in this sync.
func (r *run) proofs(j *job) *store.Proofs {
	proofs := store.NewProofs(len(j.plan.Known))
	for digest, object := range j.plan.Known {
		info, there := r.Mirror.ObjectInfo(object.ID)
		if !there {
			continue
		}
		now := proofOf(info)
		arrived := slices.ContainsFunc(r.jobs, func(other *job) bool { return other.fetched[digest] })
		if then, known := r.trust.proof(r, object.ID, now); known && !arrived {
			now = then
		}
		proofs.Add(object.ID, now)
	}
	proofs.Sort()
	return proofs
}
