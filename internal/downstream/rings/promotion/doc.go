// Package promotion decides which ring may see a release: by time, by what the hosts of the
// ring before prove, and by what hosts refuse. It is pure: it has no clock, no lock and no
// memory, so that a server and a publisher of a bucket decide alike.
//
// Hosts name themselves, so an ID can make up any number of them. Shares are therefore counted
// by IDs: each ID of a ring has one vote, which its hosts divide. An ID supplies at most its
// part of a number of hosts.
package promotion
