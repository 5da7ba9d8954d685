// Package audit remembers what was served when, for longer than the files are kept. An
// event says that a manifest or view went live. The paths and digests are the file of
// sums that readers had beside it: a hard link, so that a publish writes little more.
//
//	state/audit/events                      one JSON line for each event, replaced as a whole
//	state/audit/trees/<name>/<tree>         `sha256  path` lines, paths as below current/
//
// The served generation is the truth. Each Note adds what is missing since the last one,
// so that a crash between a swap and its Note loses nothing.
package audit
