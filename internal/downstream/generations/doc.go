// Package generations composes what is live on this host into the texts of package bucket: a
// generation for each ring of followers, with what that ring sees, and one of everything. The
// server for followers sends them, and a bundle holds them.
//
// A generation is composed when somebody asks and something may have changed. It gets another
// number only when it says something else. One count is for all rings, so that the numbers of
// each go up, whatever a rollback, a stop or another configuration takes back. The newest text
// of each ring is in the state before anybody gets it. After a restart it is the same, byte for
// byte, while nothing else is live. A count is never behind the minutes since 2026: a host
// that lost its state, or was set back to an earlier copy of its disk, must not count again
// what followers believed before.
//
// Records are written from what the mirror knows, and are not held. A follower in the middle of
// a generation finds it and its contents while some newer ones are composed.
package generations
