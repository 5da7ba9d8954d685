package source

import (
	"slices"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/manifest/forecast"
	"syncd/internal/manifest/refusal"
	"syncd/internal/store"
)

// newestOf picks the latest month of the releases that the provider lists for what.
func (e *Entry) newestOf(what string, ids []string) (manifest.Release, error) {
	if len(ids) == 0 {
		return "", refusal.New(refusal.BadShape, "the provider lists no release of %s", what)
	}
	newest, ignored := manifest.Newest(ids)
	if len(ignored) > 0 {
		e.log.Warn().Str("manifest", e.Target.Name).Int("ignored", len(ignored)).Msg("ignoring listed releases that are not of the form YYYY.MM")
	}
	if newest == "" {
		return "", refusal.New(refusal.BadShape, "none of the %d releases listed for %s is of the form YYYY.MM", len(ids), what)
	}
	return newest, nil
}

// withoutSkipped leaves out the releases that are passed over.
func withoutSkipped(t manifest.Target, ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		release, err := manifest.ParseRelease(id)
		return err == nil && slices.Contains(t.Skip, release)
	})
}

// learn notes which releases the provider lists, and when a newer one arrived. The first
// one that syncd sees was there before.
func learn(saved *store.Manifest, ids []string, newest manifest.Release, now time.Time) {
	var past forecast.Past
	if saved.Past != nil {
		past = *saved.Past
	}
	if len(ids) > 0 {
		past.List(ids, now)
	}
	if newest.Newer(manifest.Release(saved.Newest)) && saved.Newest != "" {
		past.Arrive(newest, now.UTC())
	}
	saved.Past = &past
}
