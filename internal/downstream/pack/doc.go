// Package pack writes packs: several small contents in one zstd stream, so that thousands of
// small files are a handful of requests. Package bucket says which contents a pack has, and
// package fetcher reads it.
package pack
