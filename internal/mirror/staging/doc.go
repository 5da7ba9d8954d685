// Package staging keeps revisions that are complete and not served yet, and decides
// when one may go live. Waits decides for whole groups.
//
//	state/staged/<manifest>/entry                     what is known of it
//	state/staged/<manifest>/<release>-<revision>.json its record
//
// The files are apart from the state database, so that losing that loses nothing
// staged. A revision is staged from the moment when its entry is durable. The verdict
// of a gate counts from the moment when the entry with it is durable: until then, the
// gate runs again. A crash after each step leaves:
//
//  1. Build the revision and, for a gate, the views: trees that nothing shows. The next
//     pruning removes them.
//  2. Write the record: a record without an entry, which the next start removes.
//  3. Write the entry: staged, and not judged if it has a gate. The next sync or
//     `activate` runs the gate.
//  4. Run the gate: as 3. The supervisor has killed the gate.
//  5. Replace the entry with the verdict: staged, or quarantined.
//  6. Swap: served, with an entry. The next start removes the entry, because the same
//     revision is served.
//  7. Remove the entry.
package staging
