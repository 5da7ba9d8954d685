// Package report holds the reports of syncd: the outcome of a sync or a
// verification, the status of each manifest, the progress of a running sync, the
// history and the disk use. Commands, the API, the status page and the metrics show
// them.
package report
