package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"syncd/internal/clients/transport"
	"syncd/internal/disk/space"
	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/verify"
)

// Wanter is the manifest that contents are downloaded for. Its methods are called by
// several goroutines at once, also after it stopped wanting.
type Wanter interface {
	// Wants is false once the manifest failed, or starts over with another plan.
	Wants() bool
	// Got tells that a content is an object now. counts is true for the one Wanter that
	// the download is counted for. False says that the Wanter has another plan by now, so
	// that the download is counted for another one.
	Got(content manifest.Digest, object manifest.Object, counts bool) bool
	// Failed tells why a content will not become an object.
	Failed(err error)
	// Arrived counts bytes of the downloads that are counted for the Wanter.
	Arrived(bytes int64)
}

// Order is what one manifest wants of a batch.
type Order struct {
	Wanter
	Manifest string
	Context  context.Context // of the downloads that no other order wants
	Missing  []*manifest.File
	Sizes    *manifest.Table[int64] // as far as they are known
	Assumed  int64                  // size to assume of the others; 0 to assume nothing
	Packs    []fetcher.Pack         // in which several of Missing come
}

// ErrUnforeseen ends a download before its bytes arrive: the file is larger than its order
// assumed.
var ErrUnforeseen = errors.New("the file is larger than others of its manifest let expect")

// Objects keeps proven contents. It calls done once, perhaps much later.
type Objects interface {
	Add(file verify.Proven, done func(error))
}

// Batch downloads the contents of several orders. Those that are in more than one are
// downloaded once.
type Batch struct {
	*Downloader
	objects Objects
	tasks   map[*Order][]*task
}

// Batch returns a batch of orders.
func (d *Downloader) Batch(objects Objects, orders []*Order) *Batch {
	return &Batch{Downloader: d, objects: objects, tasks: tasksOf(orders)}
}

// task is one content to fetch, for every order that wants it.
type task struct {
	links []link
	size  int64  // expected, -1 when unknown
	owner *Order // counts the download

	assumed bool // the size is assumed

	begun atomic.Bool   // by a goroutine of one of the orders
	ended chan struct{} // closed at the end; nil with one link only
}

// smallFiles is how many small files are fetched at once. Their cost is latency. Over
// HTTP/2 they share one connection, and servers allow 100 responses on it.
const smallFiles = 64

// link is a manifest's link to a content.
type link struct {
	order *Order
	file  *manifest.File
}

func (t *task) content() manifest.Digest { return t.links[0].file.Expected }

func (t *task) isSmall() bool { return fetcher.IsSmall(t.size) }

// open returns the orders that still want the content.
func (t *task) open() []*Order {
	var open []*Order
	for _, l := range t.links {
		if l.order.Wants() {
			open = append(open, l.order)
		}
	}
	return open
}

// tasksOf returns the tasks of each order, the largest first so that none trails. Orders
// that want the same content share a task.
func tasksOf(orders []*Order) map[*Order][]*task {
	links := linksOf(orders)
	tasks := make([]task, 0, len(links)) // never grows: there are pointers into it
	all := make(map[*Order][]*task, len(orders))
	for _, o := range orders {
		all[o] = make([]*task, 0, len(o.Missing))
	}
	for len(links) > 0 {
		n := 1
		for n < len(links) && links[n].file.Expected == links[0].file.Expected {
			n++
		}
		tasks = append(tasks, task{links: links[:n:n], size: -1})
		t := &tasks[len(tasks)-1]
		if n > 1 {
			t.ended = make(chan struct{})
		}
		for _, l := range t.links {
			if size, known := l.order.Sizes.Get(t.content()); known {
				t.size, t.assumed = size, false
			} else if t.size < 0 && l.order.Assumed > 0 {
				t.size, t.assumed = l.order.Assumed, true
			}
			all[l.order] = append(all[l.order], t)
		}
		links = links[n:]
	}
	for _, tasks := range all {
		slices.SortStableFunc(tasks, func(a, b *task) int { return cmp.Compare(b.size, a.size) })
	}
	return all
}

// linksOf returns the links of all orders, those to one content beside each other.
func linksOf(orders []*Order) []link {
	var links []link
	for _, o := range orders {
		links = slices.Grow(links, len(o.Missing))
		for _, f := range o.Missing {
			links = append(links, link{o, f})
		}
	}
	if len(orders) > 1 { // a plan misses each content once
		slices.SortStableFunc(links, func(a, b link) int { return a.file.Expected.Compare(&b.file.Expected) })
	}
	return links
}

// Obtain goes through the contents of one order, small ones beside large ones, and waits
// for those that other orders have begun. When the order no longer wants them, Obtain
// leaves the rest to the other orders that do. It returns the context's error; a
// failure goes to the orders that want the content.
func (b *Batch) Obtain(ctx context.Context, o *Order) error {
	tasks := b.tasks[o]
	small, large := split(tasks)
	var group errgroup.Group
	group.Go(func() error {
		b.obtainPacks(ctx, o)
		return b.obtainEach(ctx, o, small, smallFiles)
	})
	group.Go(func() error { return b.obtainEach(ctx, o, large, b.Transfers) })
	err := group.Wait()
	for _, t := range tasks {
		if err == nil && t.ended != nil && o.Wants() { // so it has begun
			<-t.ended
		}
	}
	return err
}

// split returns the tasks with small files and those with others, in their order: large ones,
// small ones, those of an unknown size.
func split(tasks []*task) (small, large []*task) {
	firstSmall := slices.IndexFunc(tasks, (*task).isSmall)
	if firstSmall < 0 {
		return nil, tasks
	}
	small = tasks[firstSmall:]
	if unknown := slices.IndexFunc(small, func(t *task) bool { return !t.isSmall() }); unknown >= 0 {
		return small[:unknown], append(tasks[:firstSmall:firstSmall], small[unknown:]...)
	}
	return small, tasks[:firstSmall]
}

// obtainEach makes the contents objects that no other order has begun, atOnce in
// parallel, as long as the order wants them. It returns the context's error. It starts
// only atOnce goroutines: one for each of thousands of files would need a stack for each.
func (b *Batch) obtainEach(ctx context.Context, o *Order, tasks []*task, atOnce int) error {
	var next atomic.Int64
	var group errgroup.Group
	for range min(len(tasks), atOnce) {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < len(tasks); i = int(next.Add(1)) - 1 {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if o.Wants() && tasks[i].begun.CompareAndSwap(false, true) {
					b.obtain(ctx, tasks[i], b.fetchAnyLink)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// obtain makes one content an object, unless another sync does it. The download of a
// content that only one order wants ends with the context of that order.
func (b *Batch) obtain(ctx context.Context, t *task, get getter) {
	if t.ended != nil {
		defer close(t.ended)
	}
	for b.tryObtain(ctx, t, get) {
	}
}

// tryObtain is true if the download was given up for a file of a folder, so that the task
// begins again.
func (b *Batch) tryObtain(ctx context.Context, t *task, get getter) (again bool) {
	open := t.open()
	if len(open) == 0 || ctx.Err() != nil {
		return false
	}
	if len(t.links) == 1 {
		ctx = open[0].Context
	}
	t.owner = nil
	object, fetched, err := b.Pool.flights.begin(ctx, t.content())
	switch {
	case err != nil:
		t.fail(err)
	case fetched:
		b.countDone(t, object)
		t.settle(object, nil)
	default:
		t.owner = open[0]
		return b.fetchTask(ctx, t, get)
	}
	return false
}

// getter gets the file of a task.
type getter func(ctx context.Context, t *task) (verify.Proven, error)

// fetchTask downloads the content of a begun flight and makes it an object. It is true if
// the flight was given up.
func (b *Batch) fetchTask(ctx context.Context, t *task, get getter) (givenUp bool) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	b.Pool.flights.offer(t.content(), stop)
	file, err := get(ctx, t)
	if b.Pool.flights.landed(t.content(), err != nil) {
		return true
	}
	if err != nil {
		b.Pool.flights.end(t.content(), manifest.Object{})
		t.fail(err)
		return false
	}
	b.countDone(t, file.Object)
	b.Metrics.FileDownloaded(t.owner.Manifest)
	b.objects.Add(file, func(err error) {
		t.settle(file.Object, err)
		if err != nil {
			file.Object = manifest.Object{}
		}
		b.Pool.flights.end(t.content(), file.Object)
	})
	return false
}

func (b *Batch) countDone(t *task, object manifest.Object) {
	for _, o := range t.open() {
		b.Progress.AddDone(o.Manifest, object.Size)
	}
}

// fetchAnyLink waits for a slot and downloads a content.
func (b *Batch) fetchAnyLink(ctx context.Context, t *task) (verify.Proven, error) {
	slot, err := b.takeSlot(ctx, t)
	if err != nil {
		return verify.Proven{}, err
	}
	defer slot.release()
	arrived := func(bytes int64) {
		slot.moved(bytes)
		t.owner.Arrived(bytes)
	}
	file, err := b.fetchLink(ctx, t, *t.links[0].file, arrived)
	if isAboutLink(err) {
		return b.fetchOtherLinks(ctx, t, err, arrived)
	}
	return file, err
}

func (b *Batch) takeSlot(ctx context.Context, t *task) (*slot, error) {
	if t.isSmall() {
		return b.Pool.small.take(ctx, smallFiles)
	}
	return b.Pool.large.take(ctx, b.Transfers)
}

// fetchLink downloads a content by one manifest's link to it.
func (b *Batch) fetchLink(ctx context.Context, t *task, link manifest.File, arrived func(bytes int64)) (verify.Proven, error) {
	return b.fetch(ctx, t.owner.Manifest, link, t.size, t.assumed, arrived)
}

// fetchOtherLinks tries the links that other manifests have to a content. When the
// provider refuses all of them for good, the error is the first link's.
func (b *Batch) fetchOtherLinks(ctx context.Context, t *task, first error, arrived func(bytes int64)) (verify.Proven, error) {
	tried := map[manifest.Reference]bool{t.links[0].file.Reference: true}
	for _, l := range t.links {
		if tried[l.file.Reference] || !l.order.Wants() {
			continue
		}
		tried[l.file.Reference] = true
		if file, err := b.fetchLink(ctx, t, *l.file, arrived); !isAboutLink(err) {
			return file, err
		}
	}
	return verify.Proven{}, first
}

// isAboutLink is true for the provider's final answer to one link: another link to
// the same content may work.
func isAboutLink(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) && answer.Kind != transport.Transient || refusal.ReasonOf(err) == refusal.HashMismatch
}

// settle tells the orders that the content is an object now, or why it is not. The
// download is counted for its owner or, if that has another plan by now, for the first
// other order that wants it.
func (t *task) settle(object manifest.Object, err error) {
	if err != nil {
		t.fail(fmt.Errorf("store %s: %w", t.links[0].file.Path, space.RefuseIfFull(err)))
		return
	}
	counted := t.owner == nil || t.owner.Got(t.content(), object, true)
	for _, l := range t.links {
		if l.order == t.owner {
			continue
		}
		counts := !counted && l.order.Wants()
		l.order.Got(t.content(), object, counts)
		counted = counted || counts
	}
}

// fail tells the orders of the task that the content will not become an object.
func (t *task) fail(err error) {
	for _, l := range t.links {
		l.order.Failed(err)
	}
}
