package bundle

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"syncd/internal/manifest"
)

// Member is a text or a content of a bundle.
type Member struct {
	Name   string
	Size   int64
	SHA256 manifest.ObjectID
	Open   func() (io.ReadCloser, error)
}

// Plan is the layout of a bundle. It is known before the first byte is written.
type Plan struct {
	members []Member
	volumes [][]piece
	id      manifest.ObjectID
	Layout
}

// Layout says how a bundle is laid out.
type Layout struct {
	Generation int               // that current.json names
	Limit      int64             // of each volume in bytes; 0 for one volume
	Since      manifest.ObjectID // digest of the receipt whose contents are left out; zero for none
}

// piece is what a volume has of a member.
type piece struct {
	member int
	name   string
	offset int64
	size   int64
}

func (p piece) bytes() int64 { return int64(len(header(p.name, p.size))) + p.size + padding(p.size) }

// NewPlan plans a bundle of members, which are in order, the first being current.json.
func NewPlan(members []Member, how Layout) (*Plan, error) {
	if how.Limit != 0 && how.Limit < MinVolume {
		return nil, fmt.Errorf("a volume of %d bytes is too small: the smallest is %d", how.Limit, MinVolume)
	}
	p := &Plan{members: members, Layout: how}
	id := newIdentity(how.Limit, how.Since)
	for _, m := range members {
		id.member(m.Name, m.Size)
	}
	p.id = id.of(members[0].SHA256)
	p.cut()
	if len(p.volumes) > maxVolumes {
		return nil, fmt.Errorf("%d volumes of %d bytes are too many: make them larger", len(p.volumes), how.Limit)
	}
	return p, nil
}

// cut lays the members into volumes. A member is cut only where a volume ends.
func (p *Plan) cut() {
	l := &cutter{plan: p, used: overhead}
	for i, m := range p.members {
		whole := piece{member: i, name: m.Name, size: m.Size}
		if !l.fits(whole) && (m.Size == 0 || l.room(partName(m.Name, 1)) < block) {
			l.next()
		}
		if l.fits(whole) {
			l.add(whole)
			continue
		}
		for offset, part := int64(0), 1; offset < m.Size; part++ {
			name := partName(m.Name, part)
			if l.room(name) < block {
				l.next()
			}
			next := piece{member: i, name: name, offset: offset, size: min(l.room(name), m.Size-offset)}
			l.add(next)
			offset += next.size
		}
	}
	l.next()
}

// cutter has the volume that Plan.cut fills.
type cutter struct {
	plan   *Plan
	volume []piece
	used   int64 // bytes
}

func (l *cutter) fits(p piece) bool {
	return l.plan.Limit == 0 || l.used+p.bytes() <= l.plan.Limit
}

// room is how many bytes of a part with a name fit.
func (l *cutter) room(name string) int64 {
	room := l.plan.Limit - l.used - int64(len(header(name, l.plan.Limit)))
	return room - room&(block-1)
}

func (l *cutter) add(p piece) { l.volume, l.used = append(l.volume, p), l.used+p.bytes() }

func (l *cutter) next() {
	l.plan.volumes = append(l.plan.volumes, l.volume)
	l.volume, l.used = nil, overhead
}

// ID is the ID of the bundle.
func (p *Plan) ID() manifest.ObjectID { return p.id }

// Volumes is how many volumes the bundle has.
func (p *Plan) Volumes() int { return len(p.volumes) }

// Bytes is the size of all volumes.
func (p *Plan) Bytes() (bytes int64) {
	for i := range p.volumes {
		bytes += p.size(i)
	}
	return bytes
}

func (p *Plan) size(volume int) int64 {
	bytes := int64(overhead)
	for _, piece := range p.volumes[volume] {
		bytes += piece.bytes()
	}
	return bytes
}

// Write writes the volumes in their order. For each, it calls create with the number and a
// function that writes the volume; an error of that function must reach Write's caller. Write
// fails if a member has other bytes than planned.
func (p *Plan) Write(ctx context.Context, create func(volume int, write func(io.Writer) error) error) error {
	w := &writer{plan: p, ctx: ctx}
	defer w.close()
	for i := range p.volumes {
		if err := create(i+1, func(to io.Writer) error { return w.volume(to, i) }); err != nil {
			return err
		}
	}
	return nil
}

// writer writes members that may go on in the next volume.
type writer struct {
	plan *Plan
	ctx  context.Context //nolint:containedctx // of one call of Write
	from io.ReadCloser   // of the present member; nil for none
	sum  hash.Hash
}

func (w *writer) close() {
	if w.from != nil {
		w.from.Close()
		w.from = nil
	}
}

func (w *writer) volume(to io.Writer, i int) error {
	h := head{ID: w.plan.id, Volume: i + 1, Volumes: len(w.plan.volumes), Bytes: w.plan.size(i), Limit: w.plan.Limit, Number: w.plan.Generation, Since: w.plan.Since}
	if _, err := to.Write(h.bytes()); err != nil {
		return err
	}
	for _, p := range w.plan.volumes[i] {
		if err := w.piece(to, p); err != nil {
			return err
		}
	}
	_, err := to.Write(make([]byte, trailer))
	return err
}

// piece writes a member, or a part of it.
func (w *writer) piece(to io.Writer, p piece) error {
	if err := context.Cause(w.ctx); err != nil {
		return err
	}
	m := w.plan.members[p.member]
	if p.offset == 0 {
		w.close()
		from, err := m.Open()
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		w.from, w.sum = from, sha256.New()
	}
	if _, err := to.Write(header(p.name, p.size)); err != nil {
		return err
	}
	source := &failure{from: w.from}
	n, err := io.Copy(to, io.TeeReader(io.LimitReader(&cancellable{w.ctx, source}, p.size), w.sum))
	switch {
	case source.err != nil:
		return fmt.Errorf("%s: %w", m.Name, source.err)
	case err != nil:
		return err
	case n < p.size:
		return fmt.Errorf("%s: %w: it has %d bytes of %d", m.Name, errChanged, p.offset+n, m.Size)
	}
	if _, err := to.Write(make([]byte, padding(p.size))); err != nil {
		return err
	}
	if p.offset+p.size < m.Size {
		return nil
	}
	if actual := manifest.ObjectID(w.sum.Sum(nil)); actual != m.SHA256 {
		return fmt.Errorf("%s: %w: it has sha256 %s, and not %s", m.Name, errChanged, actual, m.SHA256)
	}
	return nil
}

// errChanged says that a member is not as it was planned.
var errChanged = errors.New("damaged or changed meanwhile: run `syncd verify`, then export again")

// failure keeps the error of a member, which is not that of the place where it is written.
type failure struct {
	from io.Reader
	err  error
}

func (f *failure) Read(p []byte) (int, error) {
	n, err := f.from.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // a wrapped one is a failure
		f.err = err
	}
	return n, err
}

// cancellable ends reading with its context.
type cancellable struct {
	ctx  context.Context //nolint:containedctx // as long as one copy
	from io.Reader
}

func (c *cancellable) Read(p []byte) (int, error) {
	if err := context.Cause(c.ctx); err != nil {
		return 0, err
	}
	return c.from.Read(p)
}
