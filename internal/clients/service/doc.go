// Package service holds the parts that the clients of the provider's services share:
// operations described as data, the check and the encoding that follow from a
// description, the call itself, and the result codes of an answer.
//
// A client package adds its descriptions and the Go types of requests and responses.
// The command `syncd call`, its help and completion, and the table in docs/call.md work
// from the descriptions alone.
//
// Operation.Check turns inputs into a Call, or returns all problems at once.
// Client.Send encodes the call as query, JSON or XML, and sends it; a call that changes
// something is sent only once. The answer becomes a wire.Value, which keeps every
// member and its order.
//
// Requests are strict: unknown names, bad values and missing input are an *InputError
// before anything is sent, because a service may ignore a filter that it does not know.
// Answers are read tolerantly, see package wire.
package service
