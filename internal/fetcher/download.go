package fetcher

import (
	"context"
	"errors"

	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/verify"
)

// download is one call of Fetch. It owns the partial file, which its connections share.
type download struct {
	fetcher  *Fetcher
	file     manifest.File
	isSmall  bool // by the expected size
	partial  *partial
	notifier *notifier
}

func newDownload(ctx context.Context, f *Fetcher, file manifest.File, size int64, watch Watcher) (*download, error) {
	isSmall := IsSmall(size)
	p, err := f.openPartial(ctx, file.Expected, isSmall)
	if err != nil {
		return nil, err
	}
	n := &notifier{watch: watch, partial: p}
	return &download{fetcher: f, file: file, isSmall: isSmall, partial: p, notifier: n}, nil
}

// run returns the file once it is complete and proven.
func (d *download) run(ctx context.Context) (verify.Proven, error) {
	if err := d.notifier.arrived(0); err != nil {
		return verify.Proven{}, err
	}
	object, err := d.prove(ctx)
	if err != nil {
		return verify.Proven{}, err
	}
	isDurable, err := d.partial.finish()
	return verify.Proven{Name: d.partial.name, Object: object, Durable: isDurable, IsNew: !d.partial.hasOldBytes}, err
}

// prove transfers the file until it has the expected digest.
func (d *download) prove(ctx context.Context) (manifest.Object, error) {
	if object, isProven, err := d.proveOld(); isProven || err != nil {
		return object, err
	}
	cleanMismatches := 0 // of passes that used no bytes of an earlier call
	// A mismatch can come from ranges that the server gets wrong, so there are no
	// segments after one.
	for segments, isRetry := d.fetcher.segments, false; ; segments, isRetry = 1, true {
		t := &transfer{download: d, partial: d.partial, segments: segments, pastCaches: isRetry}
		var object manifest.Object
		err := t.run(ctx)
		if err == nil {
			d.notifier.received()
			object, err = d.partial.hasher.check(d.file.Expected)
		}
		var mismatch *verify.Mismatch
		isLonger := errors.Is(err, errLonger) && !isRetry
		if !isLonger && !errors.As(err, &mismatch) {
			return object, err
		}
		d.notifier.mismatch(err)
		if !d.partial.hasOldBytes {
			cleanMismatches++
		}
		if err := d.partial.restart(); err != nil {
			return manifest.Object{}, err
		}
		if err := d.notifier.arrived(0); err != nil {
			return manifest.Object{}, err
		}
		if cleanMismatches > 1 {
			return manifest.Object{}, refusal.New(refusal.HashMismatch, "%w, also after a clean retry", err)
		}
	}
}

// proveOld checks whether an earlier call left the whole file, stopped after its last
// byte. It empties a complete file that has another digest.
func (d *download) proveOld() (object manifest.Object, isProven bool, err error) {
	p := d.partial
	if !p.hasOldBytes || !p.isContiguous() {
		return manifest.Object{}, false, nil
	}
	if object, err := p.hasher.check(d.file.Expected); err == nil {
		d.notifier.resumedWhole(object.Size)
		return object, true, nil
	}
	if p.isComplete() {
		err = p.restart()
	}
	return manifest.Object{}, false, err
}
