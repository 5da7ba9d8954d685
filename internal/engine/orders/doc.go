// Package orders says what followers of this host must destroy. Servers ask with each poll of
// a follower, so it keeps what it has read.
package orders
