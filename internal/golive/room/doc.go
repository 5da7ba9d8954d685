// Package room decides what stays on disk and what still fits there: it prunes what
// retention does not keep, and reserves the space that a sync will take. It asks
// running work through Keeper. It holds no lock on the tree: its callers have the turn.
//
// Pruning removes generations, then revisions, objects and unfinished downloads. It
// keeps the contents that the state, the running syncs and the running repairs want,
// and waits while a repair reads the published files. A job announces its contents in
// the turn before its plan looks at the disk, so no pruning comes between the two.
//
// If the missing bytes or inodes do not fit, room prunes what nothing keeps. If they
// still do not, it also prunes the revision that the new one displaces from retain, but
// only if the manifest then fits, and never inside retain_for. retain_for is measured
// on the monotonic clock; after a restart, from the time of the successor's directory.
//
// Each running sync leaves to the others what they have reserved and not yet written.
package room
