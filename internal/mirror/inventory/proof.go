package inventory

import (
	"cmp"
	"context"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"syncd/internal/manifest"
	"syncd/internal/store"
)

// standing says whether a sync may reuse an object.
type standing int

const (
	isProven   standing = iota
	isUnproven          // its file does not match its proof, or it has none
	isDamaged           // its content does not match its name, or it is missing
)

// standing compares the file of an object with its proof. mustRead says that only a proof
// of this session counts, because the disk may have damaged the content without a trace.
func (s *Session) standing(id manifest.ObjectID, mustRead bool) standing {
	info, found := s.inventory.cfg.Mirror.Objects.Info(id)
	if !found {
		return isDamaged
	}
	s.mu.Lock()
	damaged := s.damaged[id]
	_, wasRead := s.proven[id]
	s.mu.Unlock()
	switch {
	case damaged:
		return isDamaged
	case mustRead && !wasRead:
		return isUnproven
	}
	now := store.ProofOf(info)
	if then, known := s.proof(id, now); known && then == now {
		return isProven
	}
	return isUnproven
}

// proof returns an object's proof, of this sync or a saved one. Of several saved
// ones it prefers the one that matches now.
func (s *Session) proof(id manifest.ObjectID, now store.Proof) (then store.Proof, known bool) {
	s.mu.Lock()
	then, known = s.proven[id]
	s.mu.Unlock()
	if known {
		return then, true
	}
	s.loadProofs.Do(s.readProofs)
	for _, saved := range s.saved {
		if p, ok := saved.Of(id); ok {
			then, known = p, true
			if p == now {
				break
			}
		}
	}
	return then, known
}

func (s *Session) readProofs() {
	saved, err := s.inventory.cfg.Store.Proofs()
	if err != nil {
		s.inventory.cfg.Log.Warn().Err(err).Msg("reading saved proofs failed; reused objects will be re-hashed")
	}
	s.saved = saved
}

// readBack proves objects by reading them with all cores, the largest first so
// that none trails. The error is the context's.
func (s *Session) readBack(ctx context.Context, q Query, objects []manifest.Object) error {
	s.readingBack.Lock()
	defer s.readingBack.Unlock()
	slices.SortFunc(objects, func(a, b manifest.Object) int { return cmp.Compare(b.Size, a.Size) })
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, object := range objects {
		if s.standing(object.ID, q.mustRead(object.ID)) == isUnproven { // else another manifest has read it meanwhile
			group.Go(func() error { return s.readOne(ctx, q.Manifest, object.ID) })
		}
	}
	return group.Wait()
}

func (s *Session) readOne(ctx context.Context, manifestName string, id manifest.ObjectID) error {
	m := s.inventory.cfg.Mirror
	info, found := m.Objects.Info(id) // before reading, so that a change meanwhile shows
	_, err := m.Objects.Check(ctx, id, id.Digest())
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && found {
		s.proven[id] = store.ProofOf(info)
		return nil
	}
	s.damaged[id] = true
	s.inventory.cfg.Damaged(manifestName)
	s.inventory.cfg.Log.Warn().Ctx(ctx).Err(err).Str("manifest", manifestName).Stringer("object", id).
		Msg("object on disk is damaged and will be downloaded again: run `syncd verify` to check the published files")
	return nil
}

// Proofs returns the proofs of a plan's objects, for the state. An object that the
// plan reused keeps the proof that the plan trusted.
func (s *Session) Proofs(known *manifest.Table[manifest.Object]) *store.Proofs {
	proofs := store.NewProofs(known.Len())
	for _, object := range known.All() {
		info, found := s.inventory.cfg.Mirror.Objects.Info(object.ID)
		if !found {
			continue
		}
		proof := store.ProofOf(info)
		if then, known := s.proof(object.ID, proof); known {
			proof = then
		}
		proofs.Add(object.ID, proof)
	}
	proofs.Sort()
	return proofs
}
