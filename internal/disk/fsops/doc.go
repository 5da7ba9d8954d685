// Package fsops holds the single steps by which syncd changes the file system: create,
// write, rename, link, remove. Nothing in it is durable by itself: a power cut may undo
// any step, until package durable syncs the file and its directory.
//
// Every change lies below an open directory, a Dir, and follows no symlink out of it.
// Every change that recovery must cope with goes through Step. A build with the tag
// torture kills the process, or fails, at each of them in turn. It can also leave the
// fsyncs out, to prove that the power-cut tests can fail. RELIABILITY.md has the results.
package fsops
