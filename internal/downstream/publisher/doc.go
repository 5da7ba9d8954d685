// Package publisher writes what a mirror serves to object storage, in the form of
// package bucket. Followers read it there.
//
// The order keeps the bucket whole at any kill: objects, records, generation, and
// current.json last. current.json is written only in the place of the one that was
// read, so that two publishers cannot cross. A condition that fails begins another
// round: read current.json, compose the next generation from it and from what is
// served, upload what is missing.
//
// Every write asks the election before the request, and again before each write on the
// connection, so one place stops a publisher that lost its lease. A new holder writes
// its fence into current.json first, even if nothing else changes: the conditional
// write of an earlier holder, stopped right before its request, then fails.
//
// Package texts reads and writes the texts, contents brings objects, packs and patches, and
// verification looks for them. Package objectstore speaks to the server. Each job has a budget of it: a publication, a
// collection, a verification, a look, a round of the election. One publication runs and one
// waits, however slow the server is; a collection runs beside them.
//
// A publisher has a random identity, and knows the generations that it wrote by their
// digests: it goes back only from those.
//
// What nothing names is deleted after a grace period. The collection finds the
// generations in use by their numbers, looks at each candidate again before it deletes
// it, and stops at anything that it cannot read. An upload writes an object again that
// is older than half of the grace period, so that no collection deletes what is about
// to be named.
package publisher
