package syncer

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"syncd/internal/clients/releases"
	"syncd/internal/clients/transport"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// entry answers for one kind of target which release is to be mirrored and which files
// that has. Everything else in a sync is the same for each kind.
type entry interface {
	// release returns the release to mirror. Unless a full check is due, it makes one
	// request. It sets job.news if files may differ from the served ones although the
	// release is the same.
	release(ctx context.Context, j *job) (manifest.Release, error)
	// checkDowngrade refuses a newest release that is older than the served one.
	checkDowngrade(j *job) error
	// list returns the files of the job's release.
	list(ctx context.Context, j *job) (*manifest.List, error)
	// askDigests finds the expected digest of each of the job's files.
	askDigests(ctx context.Context, j *job) error
}

func (r *run) entryOf(j *job) entry {
	switch {
	case r.cfg.Bucket != nil:
		return bucketEntry{r}
	case len(j.target.Files) > 0:
		return filesEntry{r}
	}
	return manifestEntry{r}
}

// manifestEntry is a manifest of the provider.
type manifestEntry struct{ *run }

func (e manifestEntry) release(ctx context.Context, j *job) (manifest.Release, error) {
	setting := j.target.Release
	if setting != manifest.Latest && !setting.IsMonth() {
		return setting, e.look(ctx, j, setting) // an alias: only the Manifest tells what it holds
	}
	if j.state.Unlisted && !e.fullCheckDue(j) {
		return e.releaseOfList(ctx, j)
	}
	newest, err := e.newest(ctx, j)
	var answer *transport.Error
	if errors.As(err, &answer) && answer.Status == http.StatusNotFound {
		return e.withoutReleases(ctx, j, err)
	}
	if err != nil {
		return "", err
	}
	j.state.Unlisted = false
	if setting.IsMonth() {
		return setting, nil
	}
	return newest, nil
}

// newest asks for the manifest's releases, conditionally, and picks the latest month.
func (e manifestEntry) newest(ctx context.Context, j *job) (manifest.Release, error) {
	var since releases.Validators
	if j.state.Newest != "" && e.sameConfig(j) {
		since = releases.Validators{ETag: j.state.ETag, LastModified: j.state.LastModified}
	}
	ids, now, notModified, err := e.provider.releases(ctx, j.target.Name, since)
	if err != nil {
		return "", err
	}
	if notModified {
		return manifest.Release(j.state.Newest), nil
	}
	listed := len(ids)
	if ids = withoutSkipped(j.target, ids); len(ids) == 0 && listed > 0 && j.served {
		return j.active.Release, nil
	}
	newest, err := e.newestOf(j, j.target.Name, ids)
	if err == nil {
		j.learn(ids, newest, e.started)
		j.state.Newest, j.state.ETag, j.state.LastModified = string(newest), now.ETag, now.LastModified
	}
	return newest, err
}

// withoutReleases is for a service that answers ManifestReleases with 404. If the
// Manifest cannot be read either, the error is that of ManifestReleases.
func (e manifestEntry) withoutReleases(ctx context.Context, j *job, missing error) (manifest.Release, error) {
	release, err := e.releaseOfList(ctx, j)
	if isNotFound(err) {
		return "", missing
	}
	if err == nil && !j.state.Unlisted {
		j.state.Unlisted = true
		e.cfg.Log.Warn().Err(missing).Str("manifest", j.target.Name).Msg("the service lists no releases of the manifest; polling the list of its files instead")
	}
	return release, err
}

// releaseOfList takes the newest month of the links for the release.
func (e manifestEntry) releaseOfList(ctx context.Context, j *job) (manifest.Release, error) {
	if err := e.look(ctx, j, j.target.Release); err != nil || j.target.Release.IsMonth() {
		return j.target.Release, err
	}
	var newest manifest.Release
	for ref := range j.list.All() {
		if ref.Release.IsMonth() {
			newest = max(newest, ref.Release)
		}
	}
	j.learn(nil, newest, e.started)
	j.state.Newest, j.state.ETag, j.state.LastModified = string(newest), "", ""
	return cmp.Or(newest, manifest.Latest), nil
}

// look asks for the list already now, because it tells what the release holds.
func (e manifestEntry) look(ctx context.Context, j *job, release manifest.Release) (err error) {
	if j.list, err = e.provider.files(ctx, release, j.target.Name, j.share); err != nil {
		return err
	}
	j.news = j.list.Fingerprint() != j.state.Links
	return nil
}

func (e manifestEntry) checkDowngrade(j *job) error {
	if j.target.Release == manifest.Latest && j.served && j.active.Release.Newer(j.release) && !e.req.Force {
		return refusal.New(refusal.Downgrade, "newest release %s is older than the served %s, which stays: `syncd sync --force %s` goes back", j.release, j.active.Release, j.target.Name)
	}
	return nil
}

func (e manifestEntry) list(ctx context.Context, j *job) (*manifest.List, error) {
	if list := j.list; list != nil {
		j.list = nil
		return list, nil
	}
	release := j.release
	if j.state.Unlisted {
		release = j.target.Release
	}
	return e.provider.files(ctx, release, j.target.Name, j.share)
}

// isNotFound is true for the provider's answer that there is no such thing.
func isNotFound(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) && answer.Kind == transport.NotFound
}
