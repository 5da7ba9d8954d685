// Package record holds the records of revisions and views: what one is, what it may hold,
// and its text on disk. Buckets and lock files have the same files in texts of their own,
// which are read, checked and written here, too. All texts go file by file, because a
// record can have 250,000 files.
package record
