// Package changes tells how two folders of files differ: which files were added, removed,
// changed and moved, by their digests, and which rows of text files came, went and
// changed, by reading them. It knows nothing of syncs, and changes nothing.
//
// # Rows
//
// A row is a line, a record of a delimited file (whose quoted fields may hold line ends),
// or an element of a JSON file with one array. Rows compare by their values: quoting, the
// order of members, line ends and a byte order mark do not count, and neither does the
// order of rows. Without a key the rows of both files are two multisets. With a key, the
// rows of one key are: equal ones cancel, then the first of one side that is left is the
// earlier state of the first of the other side, and so on; these are changed rows.
//
// Malformed text never ends a comparison. A quote that nothing closes within MaxRow bytes is
// a character, a line of JSON that is none is text, and a row above MaxRow is compared as a
// whole. A file with a NUL byte in its first 64 KiB is binary, unless it is UTF-16.
//
// # Memory
//
// Both files are read side by side. Equal rows cancel at once. Any other row is hashed
// (SHA-256 with a random key, cut to 128 bits, so that no publisher can make two rows
// collide) and waits for its partner in two bounded tables. Hashes that leave the tables go
// to an unlinked scratch file, in partitions by hash, which are read back one at a time. The
// scratch file holds hashes and offsets, and no content except of UTF-16 files, and
// disappears with its process.
package changes
