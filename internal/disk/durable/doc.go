// Package durable makes changes to a file system that survive a power cut: when a
// function returns nil, its change is on stable storage, in the order write, fsync,
// rename, fsync of the parent. A replacement is atomic, by rename(2) within one
// directory. Nothing is promised across file systems. The steps themselves are in
// package fsops.
package durable
