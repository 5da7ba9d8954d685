// Package transport carries the requests of every client to the provider. It adds the
// Customer ID, retries transient faults, limits the size of bodies, follows redirects
// without giving the Customer ID to other hosts, and sorts failures by kind. Errors and
// response headers never hold the Customer ID. A response body may hold it: the client
// that asked for the body redacts it.
//
// It does not use http.Client, which adds a Referer and prints whole URLs.
//
// # Stalls
//
// No server holds up a request. When a request stalls or its context ends, the
// transport closes the connection below TLS, which ends every wait inside net/http. A
// request that hangs even then is abandoned, and the next ones use HTTP/1.1. Writes and
// Close have time limits of their own.
//
// # Retries
//
// The requests of a poll (WithPoll), such as a sync, share one retry budget. It counts from
// the last byte or answer that one of them got, with the time for connecting. A request is
// also given up when it makes no progress itself for that long. Config.Tell hears of each
// failure that is retried, and of an attempt that has no answer after 2 s.
//
// # Connections
//
// Large files come over HTTP/1.1. Questions and small files (up to 1 MiB) share a
// connection with HTTP/2 where the provider offers it. Their writes are gathered for as long
// as others are ready to write: one system call sends several of them. The HTTP/2 windows let a server
// send at most 1 MiB of a response, and 16 MiB of all of them, ahead of the reader. A
// client has at most 512 connections open. A further one replaces the one that has been
// silent longest, so that a provider that redirects to ever more addresses does not use
// up the descriptors.
//
// # Redaction
//
// The Redactor removes the Customer ID in all its spellings. Names and numbers may hold
// a short or numeric ID by accident: Redactor.ForNames leaves such an ID alone, and
// removes other IDs there, too. The program redacts all that it writes to stdout and
// stderr once more.
package transport
