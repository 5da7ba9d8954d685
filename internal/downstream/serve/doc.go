// Package serve is the release service for followers: other hosts that take the data
// from this one. It speaks the provider's format, so that any client of the provider
// works by changing the address. docs/wire/releases.md and docs/fleet.md describe it.
//
// Its answers come from the catalog, which holds only what was proven and published.
// The only things that a request reads from the disk are the object of a download, and
// those of a pack, which is compressed as it is sent. No request makes syncd ask the
// provider.
//
// # Slow and hostile clients
//
// An answer waits for its follower's share of the bandwidth, and gives the client a limited
// time for each MiB. Short lists wait for nothing. A client that takes its answer too slowly is cut off with a reset,
// because the kernel would hold its buffer for long after a close. A file keeps going
// through sendfile.
//
// Lists of files are made and sent in pieces of 32 KiB. A list of 250,000 files would
// otherwise take 40 MB for each follower that asks. Their lengths are counted once, for all
// followers. One follower never has all pages for people.
//
// One address that has not shown an id has at most a quarter of the connections. Behind
// one that did, thousands of hosts may stand. When all connections are taken, each id and
// address has an equal share. A wrong id costs a second and the connection. All limits
// leave descriptors to syncs.
//
// Requests are counted and never logged: each holds an id. IDs knows the SHA-256 of ids
// only. A look-up by half of the sum takes a time that tells nothing of the id; the
// rest is compared in constant time.
package serve
