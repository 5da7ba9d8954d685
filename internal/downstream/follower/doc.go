// Package follower reads a mirror in the form of package bucket, as a publisher left it in
// object storage, or as another syncd serves it. All requests go through transport. It trusts
// nothing in the mirror: texts are parsed by package bucket, package believer decides whether
// they are signed, and contents are proven by their digest like those of the provider.
//
// Large contents are made of older ones, or of none, by patches, where the mirror has some: see
// package patch. Download answers with such a content as a server does with the whole one, also
// with a part of it, so that a download goes on by any way. What a patch makes is proven like
// everything else; after any failure, the content comes whole.
//
// Small contents of a record come in packs, see bucket.Pack. What does not come in one, or
// has another digest, is asked for by itself.
package follower
