// Package trust decides by signatures which texts of a mirror a follower believes, whatever
// carried them: HTTP, a cache, a bucket, a disk.
//
// A trust text names the keys of an origin and how many of them must sign: the threshold. A
// file holds one version after the other. The first is trusted because the operator put it
// there, and compares by its fingerprint. Each further version carries signatures of enough
// keys of the version before it and of enough keys of its own, so that a follower with the
// first version finds its way to the newest without help, and a stolen key alone changes
// nothing while the threshold is two.
//
// A statement says which generation of the origin is the newest, and until when that may be
// believed. Texts and statements are C2SP signed notes with Ed25519 keys
// (https://c2sp.org/signed-note). A text that has another spelling of the same facts is
// refused: one fact has one form.
//
// Nothing here reads a file, a clock or the network. All functions are safe for concurrent
// use.
package trust
