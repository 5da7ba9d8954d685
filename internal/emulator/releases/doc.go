// Package releases plays the file release service and its download host over a
// catalogue: 20 endpoints, seven verbs and three hash types over the classes of
// files. A download is a redirect to the download host.
//
// The wire facts are in docs/wire/releases.md.
package releases
