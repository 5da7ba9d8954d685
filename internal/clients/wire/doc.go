// Package wire reads and writes the bodies of the provider's services. The
// services promise little about them: names come in any case, numbers as text
// and text as numbers, lists as null, and members may be undocumented.
//
// ParseJSON, ParseJSONP and ParseXML turn a body into a Value that holds every
// member in the order of the body. Decode fills a struct from a Value and keeps
// the members that the struct has no field for. All functions are pure.
//
// The tree of Values is built here because encoding/json keeps neither the order
// of members nor repeated ones, and encoding/xml has no generic tree. Neither
// limits how many values a hostile body may create.
package wire
