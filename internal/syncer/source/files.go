package source

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"syncd/internal/clients/releases"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/store"
)

// filesKind is a product, or single files, each with releases of its own. The release of
// the entry is the newest one of its files.
type filesKind struct {
	*Entry
	refs []manifest.Reference // with their releases
}

// release asks about one file, another one in each poll. If that has news, it asks about
// all of them, so that files that were released together go live together.
func (k *filesKind) release(ctx context.Context) (manifest.Release, error) {
	if !k.Full {
		if err := k.poll(ctx); err != nil {
			return "", err
		}
	}
	if k.Full || k.answer.News {
		if err := k.resolve(ctx); err != nil {
			return "", err
		}
	}
	k.refs = k.refs[:0]
	var newest string
	for _, ref := range k.Target.Files {
		seen := k.answer.Saved.Files[ref.String()]
		newest = max(newest, seen.Newest)
		if ref.Release() == manifest.Latest {
			ref = ref.WithRelease(manifest.Release(seen.Release))
		}
		k.refs = append(k.refs, ref)
	}
	release := newestRelease(k.refs)
	if k.Target.Release == manifest.Latest && release.IsMonth() {
		newest = string(release) // files can have older releases by configuration, and variants by what there is
	}
	k.answer.Saved.Newest = newest
	return release, nil
}

// newestRelease is the newest month of references. Without a month it is one of their
// aliases.
func newestRelease(refs []manifest.Reference) manifest.Release {
	var month, alias manifest.Release
	for _, ref := range refs {
		if release := ref.Release(); release.IsMonth() {
			month = max(month, release)
		} else {
			alias = max(alias, release)
		}
	}
	return cmp.Or(month, alias)
}

// poll asks about the next file.
func (k *filesKind) poll(ctx context.Context) error {
	if k.answer.News = !k.knowsAll(); k.answer.News {
		return nil
	}
	ref := k.Target.Files[k.answer.Saved.Polls%len(k.Target.Files)]
	k.answer.Saved.Polls++
	before := k.answer.Saved.Files[ref.String()]
	if isAlias(ref) {
		digest, err := k.digest(ctx, k.Target.Name, ref)
		served, _ := k.Served.File(ref.Path())
		k.answer.News = err == nil && digest != served.Expected
		if isNotFound(err) && served.Reference == ref {
			return nil
		}
		return err
	}
	seen, now, _, err := k.newest(ctx, ref, before)
	if err != nil {
		return err
	}
	k.answer.Replaced = now.OfContent && before.ETag != "" && now.ETag != before.ETag
	if k.answer.News = seen.Newest != before.Newest || k.answer.Replaced; !k.answer.News {
		k.answer.Saved.Files[ref.String()] = seen
	}
	return nil
}

// knowsAll is true when the state has the newest release of each file. It lacks them after
// a sync by a lock file, which asks for none.
func (k *filesKind) knowsAll() bool {
	return !slices.ContainsFunc(k.Target.Files, func(ref manifest.Reference) bool {
		_, known := k.answer.Saved.Files[ref.String()]
		return !known && !isAlias(ref)
	})
}

// isAlias is true for a file whose release only the service can resolve. Its digest tells
// whether there is something new.
func isAlias(ref manifest.Reference) bool {
	return ref.Release() != manifest.Latest && !ref.Release().IsMonth()
}

// resolve asks for the newest release of each file.
func (k *filesKind) resolve(ctx context.Context) error {
	found := make([]store.FileReleases, len(k.Target.Files))
	err := forAll(ctx, len(found), func(ctx context.Context, i int) (err error) {
		if ref := k.Target.Files[i]; !isAlias(ref) {
			found[i], err = k.resolveFile(ctx, ref)
		}
		return err
	})
	if err != nil {
		return err
	}
	k.answer.Saved.Files = make(map[string]store.FileReleases, len(found))
	for i, ref := range k.Target.Files {
		if !isAlias(ref) {
			k.answer.Saved.Files[ref.String()] = found[i]
		}
	}
	return nil
}

// resolveFile asks for the newest release of a file. The list of releases is that of all
// variants, so the newest one of a variant is looked for.
func (k *filesKind) resolveFile(ctx context.Context, ref manifest.Reference) (store.FileReleases, error) {
	seeksVariant := ref.Tag() != "" && ref.Release() == manifest.Latest
	var before store.FileReleases
	if k.Same && !seeksVariant {
		before = k.answer.Saved.Files[ref.String()]
	}
	seen, _, ids, err := k.newest(ctx, ref, before)
	if err == nil && seeksVariant {
		seen.Release, err = k.newestOfVariant(ctx, ref, ids)
	}
	return seen, err
}

// newest asks for the releases of a file, conditionally. ids is empty if before still
// holds.
func (k *filesKind) newest(ctx context.Context, ref manifest.Reference, before store.FileReleases) (seen store.FileReleases, now releases.Validators, ids []string, err error) {
	since := releases.Validators{ETag: before.ETag, LastModified: before.LastModified}
	ids, now, notModified, err := k.fileReleases(ctx, k.Target.Name, ref, since)
	if isNotFound(err) && ref.Release() != manifest.Latest {
		return before, releases.Validators{}, nil, nil // the wanted release may be on disk, see digests
	}
	if err != nil || notModified || len(ids) == 0 && ref.Release() != manifest.Latest {
		return before, now, nil, err
	}
	newest, err := k.newestOf(ref.String(), ids)
	seen = store.FileReleases{Newest: string(newest), Release: string(newest), ETag: now.ETag, LastModified: now.LastModified}
	if seen.Newest == before.Newest {
		seen.Release = before.Release
	}
	return seen, now, ids, err
}

// maxVariantReleases is in how many releases of a file a variant is looked for.
const maxVariantReleases = 24

// newestOfVariant finds the newest release that has the variant.
func (k *filesKind) newestOfVariant(ctx context.Context, ref manifest.Reference, ids []string) (string, error) {
	var months []string
	for _, id := range ids {
		if release, err := manifest.ParseRelease(id); err == nil && release.IsMonth() {
			months = append(months, string(release))
		}
	}
	slices.Sort(months)
	slices.Reverse(months)
	months = slices.Compact(months)
	months = months[:min(len(months), maxVariantReleases)]
	for _, month := range months {
		if _, err := k.digest(ctx, k.Target.Name, ref.WithRelease(manifest.Release(month))); !isNotFound(err) {
			return month, err
		}
	}
	return "", fmt.Errorf("the newest %d releases of %s have no variant with the tag %q: check the tag", len(months), ref.Path(), ref.Tag())
}

// checkDowngrade compares file by file: the entry's release can be that of another file.
func (k *filesKind) checkDowngrade() error {
	for i, ref := range k.refs {
		served, _ := k.Served.File(ref.Path())
		was := served.Reference
		if k.Target.Files[i].Release() == manifest.Latest && was.Tag() == ref.Tag() && was.Release().Newer(ref.Release()) {
			return refusal.New(refusal.Downgrade, "newest release %s of %s is older than the served %s, which stays: `syncd sync --force %s` goes back", ref.Release(), ref.Path(), was.Release(), k.Target.Name)
		}
	}
	return nil
}

func (k *filesKind) list(context.Context) (Listing, error) {
	var builder manifest.ListBuilder
	for _, ref := range k.refs {
		if err := builder.Add(ref); err != nil {
			return Listing{}, err
		}
	}
	list := builder.List()
	return Listing{Files: list, Count: list.Len(), Links: list.Fingerprint()}, nil
}

// digests asks for the expected digests. A file of a release that the configuration or a
// pin names, and that the provider has no more, is taken as this host has it on disk.
func (k *filesKind) digests(ctx context.Context, files []manifest.File, isNew func(manifest.File) bool) error {
	gone := make([]bool, len(files))
	err := forAll(ctx, len(files), func(ctx context.Context, i int) error {
		f := &files[i]
		err := k.digestOf(ctx, f, isNew)
		if isNotFound(err) && slices.Contains(k.Target.Files, f.Reference) {
			if digest := k.onDisk(ctx, *f); !digest.IsZero() {
				f.Expected, gone[i], err = digest, true, nil
			}
		}
		return err
	})
	if i := slices.Index(gone, true); i >= 0 {
		k.delisted = files[i].Reference.Release()
	}
	return err
}

// onDisk returns the digest of a file that is served or was served before; zero if this
// host has it no more.
func (k *filesKind) onDisk(ctx context.Context, f manifest.File) (digest manifest.Digest) {
	if served, _ := k.Served.File(f.Path); served.Reference == f.Reference {
		return served.Expected
	}
	earlier, err := k.cfg.Earlier(ctx, k.Target.Name)
	for _, record := range earlier {
		if was, _ := record.File(f.Path); err == nil && was.Reference == f.Reference {
			return was.Object.Digest()
		}
	}
	return digest
}

func (k *filesKind) drop() {}
