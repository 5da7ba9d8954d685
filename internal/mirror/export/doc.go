// Package export keeps a folder outside the data directory equal to a tree of the
// mirror, for programs that cannot follow a symlink.
//
// Beside the folder /srv/refdata lies /srv/.refdata.syncd, which only syncd can read.
// The next tree is built in there, made durable, and exchanged with the folder in one
// step (renameat2). A mark in there names each tree by its inode, which an exchange
// does not change: so the disk alone tells which tree the folder is. A tree without a
// mark is not syncd's, and is never removed; it is given back as <path>.before-syncd.
//
// The steps are the same for a new release and for a change of the layout: a tree has a
// fingerprint of its paths, contents and permissions. Programs see the old tree until
// step 5 and the new one from there on. On another file system, step 2 first refuses a
// tree that does not fit, and then copies. After a crash, the next sync goes on:
//
//  1. Make the work folder and write its owner, fsync the folder above. The next sync
//     writes a missing owner.
//  2. Build the tree as .tmp-tree-…, fsync bottom-up, write its list and its mark. The
//     next sync removes a part of it and builds again.
//  3. Rename it to tree-…, fsync the work folder. A complete tree that was never shown
//     is used if it is still wanted, or else removed.
//  4. Give its mark the next number.
//  5. Exchange it with the folder, or rename it if there is none. The mark tells that
//     the folder follows.
//  6. Fsync the folder above, then the work folder.
//  7. Prune: rename trees to .tmp-… once retain_for has passed, remove them and their
//     marks. Leftovers are removed.
//
// The data directory remembers on which mount point an export is, unless that is the root.
// When nothing is mounted there, nothing is exported, so that no tree fills the disk below.
//
// A folder that is taken over loses its mark. The new tree is then renamed to
// <path>.before-syncd, and the two names are exchanged. A crash between these steps
// leaves a marked tree under that name: the next sync moves it back and begins again.
package export
