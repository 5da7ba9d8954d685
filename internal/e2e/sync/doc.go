// Package sync has the end-to-end tests of one sync from the provider: what it selects,
// downloads, refuses and shows, and what no output may hold.
package sync
