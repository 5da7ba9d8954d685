// Package claims gives each key, such as the name of a manifest, to one piece of work
// at a time. The others wait for its end.
package claims
