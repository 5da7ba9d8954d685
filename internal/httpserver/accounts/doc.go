// Package accounts shares what all clients of a server have in common between identities:
// Places are connections, a Queue hands out bytes per second, Turns order what is done one at a
// time. A client has one identity over all of its connections: its id, or its address as long as it
// has shown none.
//
// Shares are even between the identities that want something at the time. So it does not
// help a client to open a thousand connections, and a client alone gets everything.
package accounts
