// Package relay keeps the signed texts that an upstream gave, for those who follow this host.
// They are passed on as they are, so that a follower of a follower believes the first
// publisher's key and nobody between.
//
// state/upstream/texts.json has the last generations with the answers that named them, and
// state/upstream/records the texts of their records, by their SHA-256. All of it can be lost:
// the next start brings it again.
package relay
