package report

import (
	"fmt"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// WithdrawnRevision is an expired revision that left `current`.
type WithdrawnRevision struct {
	Release  string    `json:"release"`
	Revision string    `json:"revision"`
	At       time.Time `json:"at"`
}

// withdrawn says what is missing, and what brings data back.
func (e explanation) withdrawn() string {
	if !e.Expired {
		until := around(" until ", e.Expires, "")
		return joined(fmt.Sprintf("release %s was withdrawn%s for a lifetime that the configuration has no more", e.Withdrawn.Release, e.when("at", e.Withdrawn.At)),
			"it may be used"+until+", and the next sync brings it back", e.next())
	}
	lastError := e.lastError()
	if e.Reason == string(refusal.Expired) { // it says the same
		lastError = ""
	}
	comes := "a newer release goes live by itself"
	switch {
	case e.HoldUntil != nil:
		comes = fmt.Sprintf("a newer release goes live after the hold, which `syncd hold %s --for 0s` ends", e.Name)
	case e.Pin != "":
		comes = fmt.Sprintf("it is pinned to %s, and a newer release goes live after `syncd unpin %s`", e.Pin, e.Name)
	case manifest.Release(e.Wanted).IsMonth():
		comes = fmt.Sprintf("the configuration wants %s, and another release goes live after a change of that", e.Wanted)
	}
	return joined(fmt.Sprintf("release %s expired on %s and was withdrawn%s", e.Withdrawn.Release, e.Expires, e.when("at", e.Withdrawn.At)),
		fmt.Sprintf("%s, `syncd sync --force %s` brings this one back", comes, e.Name), e.stagedInstead(), lastError, e.next())
}

// stagedInstead says what keeps the next data of a withdrawn manifest from going live.
func (e explanation) stagedInstead() string {
	if e.Staged == nil {
		return ""
	}
	return fmt.Sprintf("%s is staged and %s", e.Staged.Release, e.goesLive())
}

// age says how long the served data may be used, "" if there is nothing to say.
func (e explanation) age() string {
	doubt := around(", but ", e.ExpiryDoubt, "")
	switch {
	case e.Expires == "" || e.Withdrawn != nil:
		return ""
	case e.Expired && e.KeptByForce:
		return fmt.Sprintf("%s expired on %s and is served by --force", e.Release, e.Expires)
	case e.Expired:
		return fmt.Sprintf("%s expired on %s and is still served", e.Release, e.Expires) + doubt
	case e.ExpiryDoubt != "":
		return fmt.Sprintf("the last day of %s is %s", e.Release, e.Expires) + doubt
	case e.Expiring:
		return fmt.Sprintf("%s expires soon: it may be used until %s", e.Release, e.Expires)
	case e.brief:
		return ""
	}
	return "may be used until " + e.Expires
}
