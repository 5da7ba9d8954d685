// Package status reads reports from the disk and the state database: the status of
// manifests, views, exports, hooks, scrubs and the bucket, the history, the disk use,
// the deliveries, and what a re-reading of the served files finds. It changes nothing,
// and needs no engine. The metrics of a manifest come from the same status, so a
// restart shows no zeros.
//
// The sentence of `syncd explain` is made from the same status; the API, the page and
// systemd show it.
package status
