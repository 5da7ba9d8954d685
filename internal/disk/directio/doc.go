// Package directio writes and reads files past the page cache (O_DIRECT). A sync larger
// than memory would otherwise push out the pages that other programs use.
//
// The bytes lie in a buffer as in the file, relative to a block of 4 KiB; only whole
// blocks are written directly. The rest, pieces below 64 KiB, and everything on a file
// system that refuses direct writes go through the cache and are dropped from it once
// they are on the disk. Reads leave the cache as it was: by RWF_DONTCACHE (Linux 6.14),
// or else by direct reads.
//
// Nothing in it is durable by itself.
package directio
