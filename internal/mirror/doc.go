// Package mirror owns the data directory: objects, revisions, generations and the
// symlink `current`, in the layout that README.md promises to readers. Everything with
// a final name is complete; readers follow `current` and nothing else. The caller holds
// the data directory's lock for all changes.
//
// Objects, Trees, Records and Generations each own their directories. A change that needs
// several of them, such as a publish or pruning, is a method of Mirror.
//
// ARCHITECTURE.md has the order of the steps of a publish, and what a crash after each
// of them leaves.
//
// # Views
//
// A view's record holds a fingerprint of its configuration and the revisions that it
// shows. If both are unchanged, nothing is done. Nothing about views is in the state
// database, so the status compares the record with the configuration, too.
//
// # Failed fsync
//
// A file whose write or fsync failed is removed, never retried: a second fsync may
// report success for bytes that the kernel dropped. If only the fsync after the swap
// fails, the process repeats the swap before its next sync reports anything.
package mirror
