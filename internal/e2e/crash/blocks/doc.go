// Package blocks records what a real file system writes to its disk, and serves the disks that
// a power cut at any moment would have left.
//
// A FUSE file in memory lies below a loop device with direct I/O, so each write of a block and
// each flush arrives here in its order. Cut is a disk with some of the writes: those before
// the last flush, and any of the others.
//
// The files are served by a process of its own. A process that used a mount of a file that it
// serves itself could wait for itself for ever. The program never imports this package.
package blocks
