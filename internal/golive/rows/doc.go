// Package rows compares the rows of a revision with those of the served one, before the
// revision goes live. It reads the objects of both, one comparison at a time, without the
// turn, so that it holds up nothing but the manifest itself.
package rows
