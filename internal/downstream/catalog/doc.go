// Package catalog knows what other hosts may take from this one: everything that
// `current` shows, and revisions that it showed once and that are still on disk. It
// never knows staged or quarantined data, and nothing makes it ask the provider.
//
// A Snapshot is made at each swap, and answers without the disk. A release that a
// rollback left is in no list any more, but its files are found by their month, for
// hosts in the middle of a download. A forgotten manifest leaves at once.
//
// Revisions share the files that they have in common, and the index has two numbers for
// each file. Beside what is served, a snapshot holds at most 1,000,000 files.
//
// Followers say which revisions they use: Catalog.Asked notes a question before its
// answer, and writes one to the state once an hour for each revision. Pruning keeps these
// revisions for the time of SetKeep, as many as SetKeepMax and new releases leave room for:
// first the one that each follower asked about last, so that none pushes out others'. Pruning tells the catalog what will
// stay (Catalog.Retire) before it removes anything. If a host meanwhile asked about a
// revision that would go, nothing is removed.
package catalog
