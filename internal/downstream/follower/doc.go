// Package follower reads a mirror from object storage, as a publisher left it there. All
// requests go through transport. It trusts nothing in the bucket: texts are parsed by
// package bucket, package believer decides whether they are signed, and contents are proven
// by their digest like those of the provider.
package follower
