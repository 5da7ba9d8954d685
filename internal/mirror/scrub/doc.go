// Package scrub re-reads every object, to find damage while a proven copy can still be
// had. It works in slices. Nothing is locked in a slice, so that no sync, rollback or
// command waits for one. Its progress outlives restarts, also within a large object.
package scrub
