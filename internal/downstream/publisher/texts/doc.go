// Package texts reads and writes the texts of a bucket for its publisher: what current.json
// names, generations, records and lists of patches.
package texts
