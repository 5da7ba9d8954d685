// Package destruction holds what a publisher says to its followers about the end of data:
// how long after it was last served a revision must be destroyed, and which revisions the
// publisher destroyed itself.
//
// A follower obeys an Order for one manifest, and only for revisions that it took from the
// upstream that gives the order. The publisher may be hostile, so an Order that was read is
// bounded, and nothing in it says when a revision stopped being served: each host counts from
// its own records.
package destruction
