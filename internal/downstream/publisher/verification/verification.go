package verification

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/publisher/contents"
	"syncd/internal/downstream/publisher/texts"
	"syncd/internal/downstream/trust"
	"syncd/internal/host/rate"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/mirror/record"
	"syncd/internal/report"
)

// Limits of a verification.
const (
	maxReadUnasked   = 1 << 30 // bytes of objects that are read although nobody asked for it
	maxVerified      = 1000    // generations
	maxListed        = 100     // findings that the report lists
	maxFindings      = 100_000 // that one verification repairs
	maxVerifiedFiles = 3 << 20 // objects of all records together, which take some 250 MiB
)

// Config says where to look, and how.
type Config struct {
	contents.Config
	Lines    []Line                                       // the last one is current.json
	Revision func(name, id string) (mirror.Record, error) // a revision on disk that is not served
	Signer   *trust.Signer                                // nil signs nothing
	Log      *zerolog.Logger
	Read     bool         // read every object, not only some that the server keeps no SHA-256 of
	Pace     *rate.Budget // of everything that is read; nil for no limit
}

// Line is the current.json of a ring, and what the ring sees.
type Line struct {
	Current string // its name
	Mirror  Mirror
}

// Mirror is what is published. Safe for concurrent use.
type Mirror interface {
	Current() mirror.Generation
}

// line is a Line and what its current.json leads to.
type line struct {
	Line
	at texts.State
}

// New returns a verification. It makes no request yet.
func New(cfg Config) *Verification {
	v := &Verification{Config: cfg, records: map[string]*finding{}, objects: map[manifest.ObjectID]wanted{}, packs: map[manifest.ObjectID]int{}, unasked: maxReadUnasked}
	for _, l := range cfg.Lines {
		v.lines = append(v.lines, &line{Line: l})
	}
	return v
}

// Verification looks through a bucket once.
type Verification struct {
	Config
	lines       []*line
	generations int
	records     map[string]*finding // by name; a nil one is good
	objects     map[manifest.ObjectID]wanted
	packs       map[manifest.ObjectID]int // index of the first record that has it
	sources     []source
	bytes       int64 // of all objects

	mu      sync.Mutex // guards what follows
	unasked int64      // bytes that may still be read
	read    int64      // bytes that were
	unread  int        // objects of which only the size is known
	found   []*finding
	more    int // were found and are not kept
}

// wanted is an object that a kept generation names. It is small, because there can be some
// millions.
type wanted struct {
	size   int64
	source int // index of the first record that names it
}

// source is a record and the newest generation that names it.
type source struct {
	manifest bucket.Manifest
	number   int
}

// finding is something that is missing or damaged.
type finding struct {
	name      string // in the bucket
	object    *contents.Object
	pack      manifest.ObjectID // zero for something else
	patches   []bucket.Patch    // of a list of patches: those that are there
	manifest  *bucket.Manifest  // whose record, object, pack or list it is; nil for a generation
	path      string            // of a file with the object
	trust     []byte            // what a version of the trust text must be; nil for anything else
	number    int               // of the newest generation that names it
	isMissing bool
	err       error // the damage
	unmended  error // why it was not repaired
	repaired  bool
}

// Generation is the one that current.json names.
func (v *Verification) Generation() int { return v.lines[len(v.lines)-1].at.Generation }

// IsWhole is true if nothing was found.
func (v *Verification) IsWhole() bool { return len(v.found) == 0 }

// Look finds what is missing or damaged.
func (v *Verification) Look(ctx context.Context) error {
	if err := v.readTexts(ctx); err != nil {
		return err
	}
	if err := v.readTrust(ctx); err != nil {
		return err
	}
	if err := v.checkObjects(ctx); err != nil {
		return err
	}
	if err := v.checkPacks(ctx); err != nil {
		return err
	}
	if err := v.checkPatches(ctx); err != nil {
		return err
	}
	if err := v.dropOutdated(ctx); err != nil {
		return err
	}
	return v.nameFiles(ctx)
}

// nameFiles finds a file with each object that the report lists.
func (v *Verification) nameFiles(ctx context.Context) error {
	slices.SortFunc(v.found, func(a, b *finding) int { return strings.Compare(a.name, b.name) })
	of := map[bucket.Manifest]map[manifest.ObjectID]*finding{}
	for _, f := range v.found[:min(len(v.found), maxListed)] {
		if f.object == nil {
			continue
		}
		if of[*f.manifest] == nil {
			of[*f.manifest] = map[manifest.ObjectID]*finding{}
		}
		of[*f.manifest][f.object.ID] = f
	}
	for m, found := range of {
		r, err := v.usableRecord(ctx, m)
		if err != nil {
			return err
		}
		for _, file := range r.Files {
			if f := found[file.Object]; f != nil && f.path == "" {
				f.path = file.Path
			}
		}
	}
	return nil
}

// usableRecord is a record in the bucket, or this host's own where that one is damaged.
func (v *Verification) usableRecord(ctx context.Context, m bucket.Manifest) (record.Record, error) {
	if v.records[m.Record()] == nil {
		return v.Store.ReadRecord(ctx, m)
	}
	own, _ := v.ownRecord(m)
	return bucket.RecordOf(own), nil
}

// readTexts reads the kept generations and their records, and learns which objects there
// must be.
func (v *Verification) readTexts(ctx context.Context) error {
	return v.eachKept(ctx, func(at texts.State, g bucket.Generation) error {
		v.generations++
		for _, m := range g.Manifests {
			isShown := at.IsWaiting() && g.Number == at.Shown.Generation
			if _, isKnown := v.records[m.Record()]; isKnown || at.Present.IsDestroyed(m) && !isShown {
				continue
			}
			v.records[m.Record()] = nil
			if err := v.readRecordOf(ctx, g.Number, m); err != nil {
				return err
			}
		}
		return nil
	}, v.find)
}

// eachKept calls use for each generation that followers may still read, of each ring the newest
// first. One that cannot be used is passed to damaged: no other one can be found through it.
func (v *Verification) eachKept(ctx context.Context, use func(texts.State, bucket.Generation) error, damaged func(*finding)) (err error) {
	for _, l := range v.lines {
		if l.at, err = v.Store.ReadCurrent(ctx, l.Current, v.Log); err != nil {
			return err
		}
		if l.at.Generation == 0 && len(l.Mirror.Current().Records) > 0 {
			damaged(&finding{name: l.Current, isMissing: true, err: objectstore.ErrNotThere})
		}
		if l.at.Generation == 0 {
			continue
		}
		if err := v.eachOf(ctx, l.at, func(g bucket.Generation) error { return use(l.at, g) }, damaged); err != nil {
			return err
		}
	}
	return nil
}

// eachOf is eachKept for what one current.json leads to.
func (v *Verification) eachOf(ctx context.Context, at texts.State, use func(bucket.Generation) error, damaged func(*finding)) error {
	if at.IsWaiting() { // it may be in no list of the one that waits
		g, _, err := v.Store.ReadGeneration(ctx, at.Shown.Generation, at.Shown.SHA256)
		switch {
		case errors.Is(err, texts.ErrUnusable):
			damaged(&finding{name: bucket.GenerationName(at.Shown.Generation), number: at.Shown.Generation, isMissing: errors.Is(err, objectstore.ErrNotThere), err: err})
		case err == nil:
			err = use(g)
		}
		if err != nil && !errors.Is(err, texts.ErrUnusable) {
			return err
		}
	}
	number := at.Generation
	for range maxVerified {
		var sum manifest.ObjectID // zero where nothing says it
		if number == at.Generation {
			sum = at.SHA256
		}
		g, found, err := v.Store.ReadGeneration(ctx, number, sum)
		switch isGone := errors.Is(err, objectstore.ErrNotThere); {
		case isGone && number != at.Generation:
			return nil // it was deleted as garbage
		case errors.Is(err, texts.ErrUnusable):
			damaged(&finding{name: bucket.GenerationName(number), number: number, isMissing: isGone, err: err})
			return nil
		case err != nil:
			return err
		}
		if isSeen := at.IsWaiting() && number == at.Shown.Generation; !isSeen {
			err = use(g)
		}
		if err != nil {
			return err
		}
		if g.Previous == 0 || v.Server.LeastAge(found.Written) >= v.Grace && number <= at.Shown.Generation {
			return nil
		}
		number = g.Previous
	}
	return nil
}

// readRecordOf reads a record. Where it is damaged, this host's own one says which objects
// there must be.
func (v *Verification) readRecordOf(ctx context.Context, number int, m bucket.Manifest) error {
	r, err := v.Store.ReadRecord(ctx, m)
	if isGone := errors.Is(err, objectstore.ErrNotThere); isGone || errors.Is(err, texts.ErrUnusable) {
		f := &finding{name: m.Record(), manifest: &m, number: number, isMissing: isGone, err: err}
		v.records[m.Record()] = f
		v.find(f)
		own, found := v.ownRecord(m)
		if !found {
			return nil
		}
		r = bucket.RecordOf(own)
	} else if err != nil {
		return err
	}
	v.sources = append(v.sources, source{m, number})
	for _, f := range r.Files {
		if _, isKnown := v.objects[f.Object]; !isKnown {
			v.objects[f.Object] = wanted{f.Size, len(v.sources) - 1}
			v.bytes += f.Size
		}
	}
	if m.Packs > 0 {
		for _, p := range bucket.PacksOf(r.Files) {
			v.packs[p.ID] = len(v.sources) - 1
		}
	}
	if len(v.objects) > maxVerifiedFiles {
		return fmt.Errorf("the records of the bucket name over %d objects", maxVerifiedFiles)
	}
	return nil
}

func (v *Verification) find(f *finding) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.found) == maxFindings {
		v.more++
		return
	}
	v.found = append(v.found, f)
}

// dropOutdated forgets findings that no kept generation names any more: a publication or a
// collection went on meanwhile.
func (v *Verification) dropOutdated(ctx context.Context) error {
	if len(v.found) == 0 {
		return nil
	}
	kept := map[int]bool{}
	err := v.eachKept(ctx, func(_ texts.State, g bucket.Generation) error {
		kept[g.Number] = true
		return nil
	}, func(f *finding) { kept[f.number] = true })
	v.found = slices.DeleteFunc(v.found, func(f *finding) bool { return !kept[f.number] })
	return err
}

// Report is what was found.
func (v *Verification) Report() report.UploadCheck {
	c := report.UploadCheck{
		Generations: v.generations, Records: len(v.records), Objects: len(v.objects), Bytes: v.bytes,
		BytesRead: v.read, Unread: v.unread, Damage: []report.UploadDamage{},
	}
	slices.SortFunc(v.found, func(a, b *finding) int { // damage that is left comes first
		if a.repaired != b.repaired {
			return map[bool]int{true: 1, false: -1}[a.repaired]
		}
		return strings.Compare(a.name, b.name)
	})
	c.Missing = v.more
	for _, f := range v.found {
		switch {
		case f.isMissing:
			c.Missing++
		default:
			c.Damaged++
		}
		if f.repaired {
			c.Repaired++
		}
		if len(c.Damage) < maxListed {
			c.Damage = append(c.Damage, f.report())
		}
	}
	return c
}

func (f *finding) report() report.UploadDamage {
	d := report.UploadDamage{Name: f.name, Missing: f.isMissing, Repaired: f.repaired, Error: report.OneLine(f.err.Error())}
	if f.isMissing {
		d.Error = "it is missing"
	}
	if f.manifest != nil {
		d.Manifest, d.Release, d.Path = f.manifest.Name, string(f.manifest.Release), f.path
	}
	if f.unmended != nil {
		d.Error += "; not repaired: " + report.OneLine(f.unmended.Error())
	}
	return d
}
