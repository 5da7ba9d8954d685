package syncer

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

// filesEntry is a product, or single files, each with releases of its own. The release of
// the entry is the newest one of its files.
type filesEntry struct{ *run }

// release asks about one file, another one in each poll. If that has news, it asks about
// all of them, so that files that were released together go live together.
func (e filesEntry) release(ctx context.Context, j *job) (manifest.Release, error) {
	if !e.fullCheckDue(j) {
		if err := e.poll(ctx, j); err != nil {
			return "", err
		}
	}
	if e.fullCheckDue(j) {
		if err := e.resolve(ctx, j); err != nil {
			return "", err
		}
	}
	j.refs = j.refs[:0]
	var newest string
	for _, ref := range j.target.Files {
		seen := j.state.Files[ref.String()]
		newest = max(newest, seen.Newest)
		if ref.Release == manifest.Latest {
			ref.Release = manifest.Release(seen.Release)
		}
		j.refs = append(j.refs, ref)
	}
	release := newestRelease(j.refs)
	if j.target.Release == manifest.Latest && release.IsMonth() {
		newest = string(release) // files can have older releases by configuration, and variants by what there is
	}
	j.state.Newest = newest
	return release, nil
}

// newestRelease is the newest month of references. Without a month it is one of their
// aliases.
func newestRelease(refs []manifest.Reference) manifest.Release {
	var month, alias manifest.Release
	for _, ref := range refs {
		if ref.Release.IsMonth() {
			month = max(month, ref.Release)
		} else {
			alias = max(alias, ref.Release)
		}
	}
	return cmp.Or(month, alias)
}

// poll asks about the next file.
func (e filesEntry) poll(ctx context.Context, j *job) error {
	if j.news = !knowsAll(j); j.news {
		return nil
	}
	ref := j.target.Files[j.state.Polls%len(j.target.Files)]
	j.state.Polls++
	before := j.state.Files[ref.String()]
	if isAlias(ref) {
		digest, err := e.provider.digest(ctx, j.target.Name, ref)
		served, _ := j.active.File(ref.Path())
		j.news = err == nil && digest != served.Expected
		return err
	}
	seen, _, err := e.newest(ctx, j, ref, before)
	if err != nil {
		return err
	}
	if j.news = seen.Newest != before.Newest; !j.news {
		j.state.Files[ref.String()] = seen
	}
	return nil
}

// knowsAll is true when the state has the newest release of each file. It lacks them after
// a sync by a lock file, which asks for none.
func knowsAll(j *job) bool {
	return !slices.ContainsFunc(j.target.Files, func(ref manifest.Reference) bool {
		_, known := j.state.Files[ref.String()]
		return !known && !isAlias(ref)
	})
}

// isAlias is true for a file whose release only the service can resolve. Its digest tells
// whether there is something new.
func isAlias(ref manifest.Reference) bool {
	return ref.Release != manifest.Latest && !ref.Release.IsMonth()
}

// resolve asks for the newest release of each file.
func (e filesEntry) resolve(ctx context.Context, j *job) error {
	found := make([]store.FileReleases, len(j.target.Files))
	err := forAll(ctx, len(found), maxRequests, func(ctx context.Context, i int) (err error) {
		if ref := j.target.Files[i]; !isAlias(ref) {
			found[i], err = e.resolveFile(ctx, j, ref)
		}
		return err
	})
	if err != nil {
		return err
	}
	j.state.Files = make(map[string]store.FileReleases, len(found))
	for i, ref := range j.target.Files {
		if !isAlias(ref) {
			j.state.Files[ref.String()] = found[i]
		}
	}
	return nil
}

// resolveFile asks for the newest release of a file. The list of releases is that of all
// variants, so the newest one of a variant is looked for.
func (e filesEntry) resolveFile(ctx context.Context, j *job, ref manifest.Reference) (store.FileReleases, error) {
	seeksVariant := ref.Tag != "" && ref.Release == manifest.Latest
	var before store.FileReleases
	if e.sameConfig(j) && !seeksVariant {
		before = j.state.Files[ref.String()]
	}
	seen, ids, err := e.newest(ctx, j, ref, before)
	if err == nil && seeksVariant {
		seen.Release, err = e.newestOfVariant(ctx, j, ref, ids)
	}
	return seen, err
}

// newest asks for the releases of a file, conditionally. ids is empty if before still
// holds.
func (e filesEntry) newest(ctx context.Context, j *job, ref manifest.Reference, before store.FileReleases) (seen store.FileReleases, ids []string, err error) {
	since := releases.Validators{ETag: before.ETag, LastModified: before.LastModified}
	ids, now, notModified, err := e.provider.fileReleases(ctx, j.target.Name, ref, since)
	if err != nil || notModified {
		return before, nil, err
	}
	newest, err := e.newestOf(j, ref.String(), ids)
	seen = store.FileReleases{Newest: string(newest), Release: string(newest), ETag: now.ETag, LastModified: now.LastModified}
	if seen.Newest == before.Newest {
		seen.Release = before.Release
	}
	return seen, ids, err
}

// maxVariantReleases is in how many releases of a file a variant is looked for.
const maxVariantReleases = 24

// newestOfVariant finds the newest release that has the variant.
func (e filesEntry) newestOfVariant(ctx context.Context, j *job, ref manifest.Reference, ids []string) (string, error) {
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
		ref.Release = manifest.Release(month)
		if _, err := e.provider.digest(ctx, j.target.Name, ref); !isNotFound(err) {
			return month, err
		}
	}
	return "", fmt.Errorf("the newest %d releases of %s have no variant with the tag %q: check the tag", len(months), ref.Path(), ref.Tag)
}

// checkDowngrade compares file by file: the entry's release can be that of another file.
func (e filesEntry) checkDowngrade(j *job) error {
	if !j.served || e.req.Force {
		return nil
	}
	for i, ref := range j.refs {
		served, _ := j.active.File(ref.Path())
		was, err := manifest.ParseReference(served.Reference)
		if err == nil && j.target.Files[i].Release == manifest.Latest && was.Tag == ref.Tag && was.Release.Newer(ref.Release) {
			return refusal.New(refusal.Downgrade, "newest release %s of %s is older than the served %s, which stays: `syncd sync --force %s` goes back", ref.Release, ref.Path(), was.Release, j.target.Name)
		}
	}
	return nil
}

func (e filesEntry) list(_ context.Context, j *job) (*manifest.List, error) {
	var list manifest.ListBuilder
	for _, ref := range j.refs {
		if err := list.Add(ref); err != nil {
			return nil, err
		}
	}
	return list.List(), nil
}
