// Package golive changes what is served. A sync, an activation, orders, a withdrawal,
// forgetting, discarding and describing are operations of one Tree.Apply, and so are those of
// the rooms above the tree: package rollback goes back, and package prover goes back when a
// consumer does not work with the data. One operation runs at a time, in the turn of its
// Directory, and takes these steps:
//
//   - Operation.Propose stages what must wait, and says what is to change, compared with
//     what is served now.
//   - The views that show it follow. What cannot be built leaves the change, with its group
//     and with nothing else, unless the operation is published as a whole.
//   - mirror.Publish makes objects durable, then revisions, then the generation, and swaps
//     `current` at the end.
//   - Pruning is requested, and what went live is staged no longer.
//   - One transaction saves the state, the entry of the history and the events for hooks.
//     After a crash before it, CatchUp saves the events.
//   - The exported folders follow outside of the turn, because copies take long.
package golive
