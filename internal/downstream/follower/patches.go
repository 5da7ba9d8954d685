package follower

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"

	"syncd/internal/clients/transport"
	"syncd/internal/disk/directio"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/patch"
	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
)

// Opener opens a content that this host has. The error is fs.ErrNotExist for another one.
type Opener func(manifest.ObjectID) (*os.File, error)

// patches are those that the mirror has for contents of revisions that this host may fetch.
// Safe for concurrent use.
type patches struct {
	open  Opener // nil for a client that takes no patches
	least transport.MinRate

	mu         sync.Mutex // guards what follows
	byManifest map[string]offered
}

// offered are the patches for a revision.
type offered struct {
	record   string // its name
	contents map[manifest.ObjectID]*patched
}

// patched is a content that patches make.
type patched struct {
	patch.Identity
	sources []source // the smallest patch first
}

// source is a patch to a content.
type source struct {
	old      manifest.ObjectID
	size     int64        // of the patch
	begin    *patch.Patch // its header and its table, once they were read
	failures int          // of the network, in a row
	isLast   bool         // the mirror answers, so one more failure is the patch's
}

// maxFailures is how often in a row the network may break a patch before the whole content is
// asked for.
const maxFailures = 3

// Patch lets the client make contents of those that this host has, and of patches that come at
// a least rate. It comes before the first request.
func (c *Client) Patch(open Opener, least transport.MinRate) {
	c.patches.open, c.patches.least = open, least
}

// Expect says that contents of a revision may be downloaded next, and what its record says of
// them. The client then reads which patches the mirror has. That is a hint: without it, contents
// come whole.
func (c *Client) Expect(ctx context.Context, m bucket.Manifest, files []record.File) {
	isLarge := func(f record.File) bool { return f.Size >= bucket.PackedBelow } // smaller ones have no patches
	if c.patches.open == nil || c.patches.has(m) || !slices.ContainsFunc(files, isLarge) {
		return
	}
	name := bucket.PatchListName(m)
	req := c.request("Patches", name, nil)
	req.Once = true
	_, text, err := c.t.Do(ctx, req)
	list := bucket.PatchList{}
	if err == nil {
		list, err = bucket.ParsePatchList(name, text)
	}
	if failed, ok := errors.AsType[*transport.Error](err); err == nil || ok && failed.Kind == transport.NotFound {
		c.patches.set(m, list.Patches, files)
	}
}

func (p *patches) has(m bucket.Manifest) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, found := p.byManifest[m.Name]
	return found && known.record == m.Record() && len(known.contents) > 0
}

// set replaces the patches of a manifest. A patch as large as its content is of no use.
func (p *patches) set(m bucket.Manifest, all []bucket.Patch, files []record.File) {
	wanted := make(map[manifest.ObjectID][]bucket.Patch, len(all))
	for _, one := range all {
		wanted[one.New] = append(wanted[one.New], one)
	}
	contents := map[manifest.ObjectID]*patched{}
	for _, f := range files {
		for _, one := range wanted[f.Object] {
			if one.Size >= f.Size {
				continue
			}
			if contents[f.Object] == nil {
				contents[f.Object] = &patched{Identity: patch.Identity{Size: f.Size, Digest: f.Object}}
			}
			made := contents[f.Object]
			made.sources = append(made.sources, source{old: one.Old, size: one.Size})
		}
		delete(wanted, f.Object)
	}
	for _, made := range contents {
		slices.SortFunc(made.sources, func(a, b source) int { return cmp.Compare(a.size, b.size) })
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byManifest == nil {
		p.byManifest = map[string]offered{}
	}
	if delete(p.byManifest, m.Name); len(contents) > 0 {
		p.byManifest[m.Name] = offered{m.Record(), contents}
	}
}

// use is one use of a patch.
type use struct {
	source
	after  patch.Identity
	before patch.Identity
	old    *os.File // nil for the empty content
}

// begin finds the smallest patch to a content whose old content is here.
func (p *patches) begin(id manifest.ObjectID) (*use, bool) {
	if p.open == nil {
		return nil, false
	}
	after, sources := p.of(id)
	for _, s := range sources {
		if s.failures >= maxFailures {
			return nil, false
		}
		u := &use{source: s, after: after, before: patch.Identity{Digest: s.old}}
		if s.old == bucket.Empty {
			return u, true
		}
		file, err := p.open(s.old)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				p.drop(id, s.old)
			}
			continue
		}
		info, err := file.Stat()
		if err != nil {
			file.Close()
			continue
		}
		u.old, u.before.Size = file, info.Size()
		return u, true
	}
	return nil, false
}

// of returns a copy of what is known of a content.
func (p *patches) of(id manifest.ObjectID) (after patch.Identity, sources []source) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.findLocked(id); known != nil {
		return known.Identity, slices.Clone(known.sources)
	}
	return after, nil
}

func (p *patches) findLocked(id manifest.ObjectID) *patched {
	for _, o := range p.byManifest {
		if known := o.contents[id]; known != nil {
			return known
		}
	}
	return nil
}

// change changes what is known of a patch.
func (p *patches) change(id, old manifest.ObjectID, to func(*source) (keep bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.byManifest {
		known := o.contents[id]
		if known == nil {
			continue
		}
		for i := range known.sources {
			if known.sources[i].old == old && !to(&known.sources[i]) {
				known.sources = slices.Delete(known.sources, i, i+1)
				break
			}
		}
	}
}

// drop gives a patch up.
func (p *patches) drop(id, old manifest.ObjectID) {
	p.change(id, old, func(*source) bool { return false })
}

// dropAll gives all patches to a content up.
func (p *patches) dropAll(id manifest.ObjectID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.byManifest {
		delete(o.contents, id)
	}
}

// learned keeps the begin of a patch for the next use.
func (p *patches) learned(id, old manifest.ObjectID, begin *patch.Patch) {
	p.change(id, old, func(s *source) bool {
		s.begin = begin
		return true
	})
}

// moved notes that a patch made bytes.
func (p *patches) moved(id, old manifest.ObjectID) {
	p.change(id, old, func(s *source) bool {
		s.failures, s.isLast = 0, false
		return true
	})
}

// broke notes that a patch failed. One that is wrong is given up. If the network breaks it while
// the mirror answers, all patches to the content are given up, because it would break them, too.
func (p *patches) broke(id, old manifest.ObjectID, err error) {
	isNetwork, isLast := transport.IsTransient(err), false
	p.change(id, old, func(s *source) bool {
		s.failures++
		isLast = s.isLast
		return isNetwork
	})
	if isNetwork && isLast {
		p.dropAll(id)
	}
}

// reconsider is true if a content was asked for whole because the network broke its patches,
// which may have been an outage. If the mirror answers by now, each patch has one more try.
func (p *patches) reconsider(id manifest.ObjectID, answers bool) (waited bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.byManifest {
		known := o.contents[id]
		if known == nil {
			continue
		}
		for i := range known.sources {
			if s := &known.sources[i]; s.failures >= maxFailures {
				s.failures, s.isLast, waited = 0, answers, true
			}
		}
	}
	return waited
}

// uncached reads the old content without keeping it in the page cache, nothing for nil.
type uncached struct{ *os.File }

func (u uncached) ReadAt(b []byte, at int64) (int, error) {
	if u.File == nil {
		return 0, io.EOF
	}
	return directio.ReadAt(u.File, b, at)
}

func (u *use) close() {
	if u.old != nil {
		u.old.Close()
	}
}
