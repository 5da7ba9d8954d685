// Package outbox decides what hooks are told. It saves each event for each hook in the
// transaction that records what happened, so that neither is saved without the other.
//
// A manifest that went live is found by comparison: the state says what hooks were told of
// each manifest, and the disk says what is served. So an event that a crash prevented
// follows at the next start, and a lost state tells everything that is served again.
package outbox
