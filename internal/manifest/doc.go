// Package manifest holds releases, file references, digests, objects, revisions and
// plans as types without I/O, with parsers for the provider's text. The result of a
// parser is safe to use as a name on disk; a parser refuses other text (package
// refusal).
//
// testdata/attacks.json is the one list of hostile links. The parsers, the publisher
// and the whole program are tested with it.
package manifest
