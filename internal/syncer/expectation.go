package syncer

import (
	"time"

	"syncd/internal/manifest"
	"syncd/internal/manifest/forecast"
)

// past is a copy of what is known of past releases.
func (j *job) past() *forecast.Past {
	if j.state.Past == nil {
		return &forecast.Past{}
	}
	known := *j.state.Past
	return &known
}

// learn notes which releases the provider lists, and when a newer one arrived. The first
// one that syncd sees was there before.
func (j *job) learn(ids []string, newest manifest.Release, now time.Time) {
	past := j.past()
	if len(ids) > 0 {
		past.List(ids)
	}
	if newest.Newer(manifest.Release(j.state.Newest)) && j.state.Newest != "" {
		past.Arrive(newest, now.UTC())
	}
	j.state.Past = past
}

// learnSize notes what was downloaded for a release.
func (j *job) learnSize() {
	if j.downloaded == 0 || j.state.Past == nil {
		return
	}
	past := j.past()
	past.Download(j.release, j.downloaded)
	j.state.Past = past
}
