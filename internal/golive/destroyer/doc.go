// Package destroyer destroys revisions of a data directory, in the turn of its tree: on
// command, by `destroy_after`, and because the publisher destroyed them. Package
// mirror/destroy has the steps on disk and the records.
package destroyer
