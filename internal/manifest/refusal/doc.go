// Package refusal names the reasons for which syncd keeps the old data in place
// instead of publishing a release. A refusal is a decision about content, not a
// transient fault: retrying the same bytes cannot help.
package refusal
