// Package estimate is the command that tells how many bytes carry a release to a host that
// has the release before.
package estimate
