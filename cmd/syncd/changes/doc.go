// Package changes is the command that compares two revisions of a manifest, or folders.
package changes
