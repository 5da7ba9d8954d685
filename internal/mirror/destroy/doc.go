// Package destroy removes revisions from a data directory for good, and keeps a record of
// each destruction that outlives the state database.
//
//	state/destroyed/<manifest>/<release>-<revision>.<number>
//
// A destruction takes these steps. After a crash, the next start continues with step 2:
//
//  1. Write the record without its end: what must go, why, and which processes have it
//     open. From now on the destruction is not taken back, and no sync fetches the
//     revision, unless an operator asks for it by `pin` or `sync --force`.
//  2. Take the revision, and each view that shows it, out of the generations before the
//     current one.
//  3. Remove its trees, its records and what is staged of it. Exported folders follow, and
//     their work folders lose what they have of it.
//  4. Prune, which removes the objects and unfinished downloads that nothing keeps.
//  5. Fsync the directories, so that no power cut brings a name back.
//  6. Tell hooks, and write the end of the record: what has gone, and what stayed because
//     another revision shares it.
//
// Removing a name gives the space back to the file system. It does not overwrite the bytes:
// docs/life.md says what that means.
package destroy
