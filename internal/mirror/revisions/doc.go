// Package revisions finds revisions of a manifest by the names that people give them, and
// opens their files for a comparison. It reads only, as any user, and needs no lock.
package revisions
