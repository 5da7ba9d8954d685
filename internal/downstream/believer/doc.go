// Package believer decides for a follower with a trust file whether it may use what an
// upstream offers, whatever carried the texts. It looks at a statement before the generation
// is used, finds newer versions of the trust text through the mirror, and remembers both, so
// that nothing goes back: neither a generation, nor the keys.
//
// A refusal has a reason of its own (see package refusal), and changes nothing. The
// generations of each ring are counted for themselves, because a host can be moved from one
// ring to another.
package believer
