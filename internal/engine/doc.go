// Package engine owns a data directory: its lock, its state database and its mirror. It
// works for the daemon and for a one-shot command alike.
//
// The process that holds the flock on state/lock owns the directory. It listens on
// state/syncd.sock, and other commands send their requests there. Before each piece of
// work and each change of the tree, the engine checks that state/lock is still the file
// it holds and that data_dir can be written.
//
// A sync needs the claim of its manifests. One request is served with one or more
// syncs: one of the free manifests at once, and further ones as the others become free.
// A dry run needs no claim.
//
// The bandwidth budget, the running syncs, the contents under download and the schedule
// of pruning belong to the engine, because a reload replaces the Syncer while syncs of
// the old one still run. Pruning and removal of manifests follow the newest
// configuration.
//
// A command without a daemon first prints its outcome, then waits for the hooks.
package engine
