// Package layout says where files lie for the software that reads them: in the arrangement
// of a view, and as the provider's own updater program places files, with its map files
// and its .hash files. All of it is pure. docs/wire/updater.md has the facts.
package layout
