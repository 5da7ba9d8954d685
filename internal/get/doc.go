// Package get fetches single files into a folder outside the data directory. A file that
// the mirror has is copied from there. A file gets its name when its content is proven
// and durable, and never replaces another one unasked. An unfinished download stays
// beside its target, and the next call continues it.
package get
