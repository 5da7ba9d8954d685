// Package files has the end-to-end tests of the files that readers see: views, maps and
// exports, and what verifies, repairs, adopts and locks them.
package files
