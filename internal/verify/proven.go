package verify

import "syncd/internal/manifest"

// Proven is a file whose content has the expected digest. Its owner may rename
// it, but must not write to it.
type Proven struct {
	Name   string // in the folder of unfinished downloads
	Object manifest.Object
	// Durable is true when the file's bytes are on stable storage, so that they
	// survive a power cut. Otherwise they need an fsync before the file may get its
	// final name; syncing many small files together is cheaper. The present name is
	// not durable in either case.
	Durable bool
	// IsNew is true when each byte was written since the folder was opened. The kernel tells
	// the folder's descriptor of bytes that the disk refused since then.
	IsNew bool
}
