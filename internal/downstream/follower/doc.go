// Package follower reads a mirror in the form of package bucket, as a publisher left it in
// object storage, or as another syncd serves it. All requests go through transport. It trusts
// nothing in the mirror: texts are parsed by package bucket, package believer decides whether
// they are signed, and contents are proven by their digest like those of the provider.
//
// Small contents of a record come in packs, see bucket.Pack. What does not come in one, or
// has another digest, is asked for by itself.
package follower
