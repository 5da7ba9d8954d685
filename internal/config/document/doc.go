// Package document reads a YAML file as a tree of values with their positions, and decodes
// it with tables of keys. It reports all problems of a file at once, each with line,
// column, key and a next step. No error quotes the file, because any part of it may be a
// secret.
package document
