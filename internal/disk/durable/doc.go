// Package durable makes changes to a file system that survive a power cut: when a
// function returns nil, its change is on stable storage, in the order write, fsync,
// rename, fsync of the parent. A replacement is atomic, by rename(2) within one
// directory. Nothing is promised across file systems. The steps themselves are in
// package fsops.
//
// # Batches
//
// Files below 1 MiB wait in a batch of 2,000 files or 64 MiB, for about 5 s at most,
// and become durable together before they are renamed. Batches are large because other
// downloads cannot create their files while the file system commits one. While one
// batch does so, the next one fills; when it is full, downloads wait for the disk, so
// that memory is bounded.
//
//   - From 256 files on, one syncfs makes them durable, on ext4, xfs, btrfs and tmpfs
//     with Linux 5.8 or later. It also waits for the bytes of other processes, so it is
//     used only while less than 256 KiB for each file wait for the disk. The kernel tells
//     each descriptor of a failed write on its file system once. So files that were
//     written since their directory was opened need no check. Others, and all after a
//     failure, are each asked for a write error.
//   - Otherwise each file is fsynced, 16 at once.
package durable
