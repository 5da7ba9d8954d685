// Package listing plays the list-retrieval service: for each group of records
// the operations doCount, getCount and doLookup.
//
// The wire facts are in docs/wire/list.md.
package listing
