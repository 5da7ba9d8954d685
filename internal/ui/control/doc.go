// Package control is the socket by which commands reach the running engine of a data
// directory: HTTP over a Unix socket in the state folder, which only its owner may
// open. Each answer is a stream of JSON lines: progress first, then one line with the
// result or the error.
//
// Both sides check the user at the other end: a client must be of the engine's user or
// root, an engine of the owner of data_dir, root or the client's own user. Requests and
// answers are limited in size, and each line of an answer in time. Control characters
// of an answer become text before a command prints it.
package control
