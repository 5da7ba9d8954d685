// Package progress follows the running syncs and their downloads for people who watch.
//
// It notes for each download when the provider was last heard of (bytes, failed
// attempts), and for each small question when it was asked. So one manifest that moves
// does not hide another that does not. Only time in which a sync waits for the provider
// counts: a slow disk, hashing, the bandwidth limit, the turn and Retry-After raise no
// alarm. After 5 minutes or twice stall_timeout (for a small question twice the retry
// budget on top), the sync counts as stuck: /healthz, `syncd explain` and a metric show
// it. A retry is shown from the first failure on.
package progress
