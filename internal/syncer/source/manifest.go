package source

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"syncd/internal/clients/releases"
	"syncd/internal/clients/transport"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// manifestKind is a manifest of the provider.
type manifestKind struct {
	*Entry
	asked *manifest.List // asked for with the release; nil once it was used
}

func (k *manifestKind) release(ctx context.Context) (manifest.Release, error) {
	release, err := k.find(ctx)
	if err == nil {
		k.answer.Saved.FollowedAt = time.Time{} // no bucket says when this was published
	}
	if isNotFound(err) && k.wantsOne() { // it may be on disk, see kept
		return k.Target.Release, nil
	}
	return release, err
}

func (k *manifestKind) find(ctx context.Context) (manifest.Release, error) {
	setting := k.Target.Release
	if setting != manifest.Latest && !setting.IsMonth() {
		return setting, k.look(ctx, setting) // an alias: only the Manifest tells what it holds
	}
	if k.answer.Saved.Unlisted && !k.Full {
		return k.releaseOfList(ctx)
	}
	newest, err := k.newest(ctx)
	var answer *transport.Error
	if errors.As(err, &answer) && answer.Status == http.StatusNotFound {
		return k.withoutReleases(ctx, err)
	}
	if err != nil {
		return "", err
	}
	k.answer.Saved.Unlisted = false
	if setting.IsMonth() {
		return setting, nil
	}
	return newest, nil
}

// newest asks for the manifest's releases, conditionally, and picks the latest month.
func (k *manifestKind) newest(ctx context.Context) (manifest.Release, error) {
	var since releases.Validators
	if k.answer.Saved.Newest != "" && k.Same {
		since = releases.Validators{ETag: k.answer.Saved.ETag, LastModified: k.answer.Saved.LastModified}
	}
	ids, now, notModified, err := k.releases(ctx, k.Target.Name, since)
	if err != nil {
		return "", err
	}
	if notModified {
		return manifest.Release(k.answer.Saved.Newest), nil
	}
	k.answer.Replaced = now.OfContent && since.ETag != "" && now.ETag != since.ETag
	listed := len(ids)
	if ids = withoutSkipped(k.Target, ids); len(ids) == 0 && listed > 0 && k.isServed() {
		return k.Served.Release, nil
	}
	if listed == 0 && k.wantsOne() { // the wanted release may be on disk, see kept
		return "", nil
	}
	newest, err := k.newestOf(k.Target.Name, ids)
	if err == nil {
		learn(&k.answer.Saved, ids, newest, k.Now)
		k.answer.Saved.Newest, k.answer.Saved.ETag, k.answer.Saved.LastModified = string(newest), now.ETag, now.LastModified
	}
	return newest, err
}

// withoutReleases is for a service that answers ManifestReleases with 404. If the
// Manifest cannot be read either, the error is that of ManifestReleases.
func (k *manifestKind) withoutReleases(ctx context.Context, missing error) (manifest.Release, error) {
	release, err := k.releaseOfList(ctx)
	if isNotFound(err) {
		return "", missing
	}
	if err == nil && !k.answer.Saved.Unlisted {
		k.answer.Saved.Unlisted = true
		k.log.Warn().Err(missing).Str("manifest", k.Target.Name).Msg("the service lists no releases of the manifest; polling the list of its files instead")
	}
	return release, err
}

// releaseOfList takes the newest month of the links for the release.
func (k *manifestKind) releaseOfList(ctx context.Context) (manifest.Release, error) {
	if err := k.look(ctx, k.Target.Release); err != nil || k.Target.Release.IsMonth() {
		return k.Target.Release, err
	}
	var newest manifest.Release
	for ref := range k.asked.All() {
		if release := ref.Release(); release.IsMonth() {
			newest = max(newest, release)
		}
	}
	learn(&k.answer.Saved, nil, newest, k.Now)
	k.answer.Saved.Newest, k.answer.Saved.ETag, k.answer.Saved.LastModified = string(newest), "", ""
	return cmp.Or(newest, manifest.Latest), nil
}

// look asks for the list already now, because it tells what the release holds.
func (k *manifestKind) look(ctx context.Context, release manifest.Release) (err error) {
	if k.asked, err = k.listOf(ctx, release, k.Target.Name, k.Share); err != nil {
		return err
	}
	k.answer.News = k.asked.Fingerprint() != k.answer.Saved.Links
	return nil
}

// checkDowngrade refuses a newest release that is older than the served one.
func (e *Entry) checkDowngrade() error {
	if e.Target.Release == manifest.Latest && e.Served.Release.Newer(e.answer.Release) {
		return refusal.New(refusal.Downgrade, "newest release %s is older than the served %s, which stays: `syncd sync --force %s` goes back", e.answer.Release, e.Served.Release, e.Target.Name)
	}
	return nil
}

func (k *manifestKind) list(ctx context.Context) (Listing, error) {
	list := k.asked
	if k.asked = nil; list == nil {
		release := k.answer.Release
		if k.answer.Saved.Unlisted {
			release = k.Target.Release
		}
		var err error
		if list, err = k.listOf(ctx, release, k.Target.Name, k.Share); err != nil {
			return Listing{}, err
		}
	}
	return Listing{Files: list, Count: list.Len(), Links: list.Fingerprint()}, nil
}

// digests asks for the expected digest of each file and, right after the answer, for
// the size of a content that is surely new. A file's two questions follow one another
// without waiting for the digests of all files. Of a long list only a sample is asked for
// sizes: if the other files look as small, their sizes need not be known.
func (e *Entry) digests(ctx context.Context, files []manifest.File, isNew func(manifest.File) bool) error {
	step := max(1, len(files)/sizeSample)
	if e.cfg.Describe { // other hosts are told all sizes
		step = 1
	}
	return forAll(ctx, len(files), func(ctx context.Context, i int) error {
		return e.digestOf(ctx, &files[i], func(f manifest.File) bool { return i%step == 0 && isNew(f) })
	})
}

// sizeSample is about how many sizes of a long list are asked for with the digests.
const sizeSample = 256

func (e *Entry) digestOf(ctx context.Context, f *manifest.File, isNew func(manifest.File) bool) (err error) {
	if f.Expected, err = e.digest(ctx, e.Target.Name, f.Reference); err == nil && isNew(*f) {
		err = e.Size(ctx, *f)
	}
	return err
}

// isNotFound is true for the provider's answer that there is no such thing.
func isNotFound(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) && answer.Kind == transport.NotFound
}

func (k *manifestKind) drop() { k.asked = nil }
