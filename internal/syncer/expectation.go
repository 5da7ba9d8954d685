package syncer

import "syncd/internal/manifest/forecast"

// past is a copy of what is known of past releases.
func (j *job) past() *forecast.Past {
	if j.state.Past == nil {
		return &forecast.Past{}
	}
	known := *j.state.Past
	return &known
}

// learnSize notes what was downloaded for a release.
func (j *job) learnSize() {
	_, bytes, _ := j.downloads()
	if bytes == 0 || j.state.Past == nil {
		return
	}
	past := j.past()
	past.Download(j.release, bytes)
	j.state.Past = past
}
