package publisher

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/host/rate"
	"syncd/internal/manifest"
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

// Verify says how to verify.
type Verify struct {
	Repair bool         // upload again what is missing or damaged
	Read   bool         // read every object, not only some that the server keeps no SHA-256 of
	Rate   *rate.Budget // of everything that is read; nil for no limit
}

// Verify looks for everything that the kept generations name: each text, each pack and patch,
// and each object with its size and its SHA-256. It needs no lease, and no publication waits for it, until it
// repairs something.
func (p *Publisher) Verify(ctx context.Context, req Verify) (report.Upload, error) {
	if err := p.store.CheckCredentials(); err != nil {
		return report.Upload{Result: report.UploadFailed, Error: err.Error()}, err
	}
	if err := p.verifying.Acquire(ctx, 1); err != nil {
		return report.Upload{}, context.Cause(ctx)
	}
	defer p.verifying.Release(1)
	v := &verification{Publisher: p, req: req, records: map[string]*finding{}, objects: map[manifest.ObjectID]wanted{}, packs: map[manifest.ObjectID]int{}, unasked: maxReadUnasked}
	done, err := v.run(ctx)
	if err != nil {
		done.Result, done.Error = report.UploadFailed, report.OneLine(err.Error())
		return done, err
	}
	check := v.report()
	done.Verification = &check
	switch {
	case check.Left() > 0 && done.Result != report.Standby:
		done.Result = report.UploadDamaged
	case check.Left() == 0:
		done.Result = report.UploadVerified
	}
	p.cfg.Observer.Verified(check.Left(), time.Now())
	if err := p.cfg.Keep(done, time.Now()); err != nil {
		p.cfg.Log.Warn().Ctx(ctx).Err(err).Msg("saving the outcome of the verification failed; syncd status may show an older one")
	}
	return done, nil
}

// verification looks through a bucket once.
type verification struct {
	*Publisher
	req         Verify
	at          state
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
	object    *object
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

func (v *verification) run(ctx context.Context) (done report.Upload, err error) {
	if err := v.look(ctx); err != nil {
		return done, err
	}
	done.Generation = v.at.Generation
	if !v.req.Repair || len(v.found) == 0 {
		return done, nil
	}
	return v.queue.Do(ctx, Request{Check: true, mend: v}, v.attempt)
}

// look finds what is missing or damaged.
func (v *verification) look(ctx context.Context) error {
	ctx, end := objectstore.Within(ctx, "verifying the bucket", limitsOfVerification)
	defer end()
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
func (v *verification) nameFiles(ctx context.Context) error {
	slices.SortFunc(v.found, func(a, b *finding) int { return strings.Compare(a.name, b.name) })
	of := map[bucket.Manifest]map[manifest.ObjectID]*finding{}
	for _, f := range v.found[:min(len(v.found), maxListed)] {
		if f.object == nil {
			continue
		}
		if of[*f.manifest] == nil {
			of[*f.manifest] = map[manifest.ObjectID]*finding{}
		}
		of[*f.manifest][f.object.id] = f
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
func (v *verification) usableRecord(ctx context.Context, m bucket.Manifest) (record.Record, error) {
	if v.records[m.Record()] == nil {
		return v.store.readRecord(ctx, m)
	}
	own, _ := v.ownRecord(m)
	return bucket.RecordOf(own), nil
}

// readTexts reads the kept generations and their records, and learns which objects there
// must be.
func (v *verification) readTexts(ctx context.Context) error {
	return v.eachKept(ctx, func(g bucket.Generation) error {
		v.generations++
		for _, m := range g.Manifests {
			isShown := v.at.isWaiting() && g.Number == v.at.shown.Generation
			if _, isKnown := v.records[m.Record()]; isKnown || v.at.generation.IsDestroyed(m) && !isShown {
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

// eachKept calls use for each generation that followers may still read, the newest first. One
// that cannot be used is passed to damaged: no other one can be found through it.
func (v *verification) eachKept(ctx context.Context, use func(bucket.Generation) error, damaged func(*finding)) (err error) {
	if v.at, err = v.readCurrent(ctx); err != nil {
		return err
	}
	if v.at.Generation == 0 {
		if len(v.cfg.Mirror.Current().Records) > 0 {
			damaged(&finding{name: bucket.CurrentName, isMissing: true, err: objectstore.ErrNotThere})
		}
		return nil
	}
	if v.at.isWaiting() { // it may be in no list of the one that waits
		g, _, err := v.store.readGeneration(ctx, v.at.shown.Generation, v.at.shown.SHA256)
		switch {
		case errors.Is(err, errUnusable):
			damaged(&finding{name: bucket.GenerationName(v.at.shown.Generation), number: v.at.shown.Generation, isMissing: errors.Is(err, objectstore.ErrNotThere), err: err})
		case err == nil:
			err = use(g)
		}
		if err != nil && !errors.Is(err, errUnusable) {
			return err
		}
	}
	number := v.at.Generation
	for range maxVerified {
		g, found, err := v.store.readGeneration(ctx, number, v.sumOf(number))
		switch isGone := errors.Is(err, objectstore.ErrNotThere); {
		case isGone && number != v.at.Generation:
			return nil // it was deleted as garbage
		case errors.Is(err, errUnusable):
			damaged(&finding{name: bucket.GenerationName(number), number: number, isMissing: isGone, err: err})
			return nil
		case err != nil:
			return err
		}
		if isSeen := v.at.isWaiting() && number == v.at.shown.Generation; !isSeen {
			err = use(g)
		}
		if err != nil {
			return err
		}
		if g.Previous == 0 || v.server.LeastAge(found.Written) >= v.cfg.Grace && number <= v.at.shown.Generation {
			return nil
		}
		number = g.Previous
	}
	return nil
}

// sumOf is the SHA-256 of a generation's text; zero where nothing says it.
func (v *verification) sumOf(number int) (sum manifest.ObjectID) {
	if number == v.at.Generation {
		sum = v.at.SHA256
	}
	return sum
}

// readRecordOf reads a record. Where it is damaged, this host's own one says which objects
// there must be.
func (v *verification) readRecordOf(ctx context.Context, number int, m bucket.Manifest) error {
	r, err := v.store.readRecord(ctx, m)
	if isGone := errors.Is(err, objectstore.ErrNotThere); isGone || errors.Is(err, errUnusable) {
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

func (v *verification) find(f *finding) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.found) == maxFindings {
		v.more++
		return
	}
	v.found = append(v.found, f)
}

// checkObjects begins anywhere, so that another part is read each time.
func (v *verification) checkObjects(ctx context.Context) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxRequests)
	for id, w := range v.objects {
		group.Go(func() error {
			o := objectOf(id, w.size)
			isMissing, damage, err := v.check(groupCtx, o)
			if damage != nil {
				from := v.sources[w.source]
				v.find(&finding{name: o.name, object: &o, manifest: &from.manifest, number: from.number, isMissing: isMissing, err: damage})
			}
			return err
		})
		if groupCtx.Err() != nil {
			break
		}
	}
	return group.Wait()
}

// check returns what is wrong with an object. An error says that this is not known.
func (v *verification) check(ctx context.Context, o object) (isMissing bool, damage, err error) {
	job := objectstore.BudgetOf(ctx)
	v.growFor(job, o.size)
	job.Grow(objectstore.Limits{Bytes: 2 * o.size}) // the bytes are read, perhaps twice
	found, err := v.store.Head(ctx, o.name)
	switch {
	case errors.Is(err, objectstore.ErrNotThere):
		return true, err, nil
	case err != nil:
		return false, nil, err
	case found.Size != o.size:
		return false, fmt.Errorf("it has %d bytes, not %d", found.Size, o.size), nil
	case found.IsOther(o.size, o.id):
		return false, fmt.Errorf("its SHA-256 is another one, as the server keeps it: %s", found.Sum), nil
	}
	if !v.req.Read {
		isSame, isKnown := v.compareParts(ctx, o, found.Sum)
		switch {
		case found.Sum != "" && !strings.Contains(found.Sum, "-"), isKnown && isSame:
			return false, nil, ctx.Err()
		case !isKnown && !v.mayRead(o.size):
			return false, nil, nil
		}
	}
	return v.readObject(ctx, o)
}

// compareParts compares the sum of an object that went in parts with the object on this
// host's disk. It is not known without that one, and for parts of other sizes.
func (v *verification) compareParts(ctx context.Context, o object, sum string) (isSame, isKnown bool) {
	whole, count, inParts := strings.Cut(sum, "-")
	file, err := v.cfg.Objects.Open(o.id)
	if err != nil {
		return false, false
	}
	defer file.Close()
	if !inParts {
		return false, false
	}
	parts, err := hashParts(ctx, rate.ReaderAt(ctx, file, v.req.Rate), o, partSize(o.size))
	if err != nil || count != fmt.Sprint(len(parts)) {
		return false, false
	}
	hash := sha256.New()
	for _, part := range parts {
		hash.Write(part[:])
	}
	return whole == base64.StdEncoding.EncodeToString(hash.Sum(nil)), true
}

// mayRead takes bytes from what is read unasked.
func (v *verification) mayRead(bytes int64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if bytes > v.unasked {
		v.unread++
		return false
	}
	v.unasked -= bytes
	return true
}

// readObject reads an object from the bucket.
func (v *verification) readObject(ctx context.Context, o object) (isMissing bool, damage, err error) {
	hash := sha256.New()
	var size int64
	_, err = v.store.Read(ctx, o.name, func(from io.Reader) (err error) {
		hash.Reset()
		size, err = io.Copy(hash, io.LimitReader(rate.Reader(ctx, from, v.req.Rate), o.size+1))
		return err
	})
	v.mu.Lock()
	v.read += size
	v.mu.Unlock()
	switch actual := manifest.ObjectID(hash.Sum(nil)); {
	case errors.Is(err, objectstore.ErrNotThere):
		return true, err, nil
	case err != nil:
		return false, nil, err
	case actual != o.id:
		return false, fmt.Errorf("its bytes have sha256 %s", actual), nil
	}
	return false, nil, nil
}

// dropOutdated forgets findings that no kept generation names any more: a publication or a
// collection went on meanwhile.
func (v *verification) dropOutdated(ctx context.Context) error {
	if len(v.found) == 0 {
		return nil
	}
	kept := map[int]bool{}
	err := v.eachKept(ctx, func(g bucket.Generation) error {
		kept[g.Number] = true
		return nil
	}, func(f *finding) { kept[f.number] = true })
	v.found = slices.DeleteFunc(v.found, func(f *finding) bool { return !kept[f.number] })
	return err
}

// report is what was found.
func (v *verification) report() report.UploadCheck {
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
