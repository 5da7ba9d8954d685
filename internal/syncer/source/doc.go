// Package source answers which release of a manifest is to be mirrored, and which files
// that has. There are four kinds of sources: a manifest of the provider, single files
// of the provider, a manifest in a bucket, and a lock file. Where a sync takes other
// steps for a kind, it asks the source by a method that names the difference, such as
// AllOrNothing.
//
// A manifest without ManifestReleases, or with an alias, is polled by its list, which
// the sync then uses. Single files are polled in turn, one in each poll; the state
// keeps what the provider said about each.
//
// A bucket's record has digests and sizes, so nothing else is asked. The state keeps
// the number of the generation that was followed last, so that a store that gives old
// data is noticed. A lock file has digests, too; the provider is asked for sizes and
// downloads only.
//
// For a content that is surely new, a source asks Metadata together with the digest,
// for the size. Without an answer, Content-Length tells the size.
package source
