// Package contribution is the client of the contribution service; the wire facts
// are in docs/wire/contribution.md. Every operation queues a submission for
// review, so the client never retries one: after an error without an answer,
// the service may or may not have accepted it.
package contribution
