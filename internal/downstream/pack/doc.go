// Package pack writes and reads packs: several small contents in one zstd stream, so that
// thousands of small files are a handful of requests. Package bucket says which contents a
// pack has.
//
// The writer believes this host's disk no more than the reader believes the writer: a reader
// knows the sizes before it reads, takes no byte more, and proves each content by its digest.
package pack
