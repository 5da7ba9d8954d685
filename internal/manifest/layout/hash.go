package layout

import (
	"syncd/internal/manifest"
)

// HashName returns the name of the file that lies beside a file and holds its digest.
func HashName(name string) string { return name + ".hash" }

// HashText returns the content of that file: the SHA-256 in lower-case hex, without a
// newline.
func HashText(id manifest.ObjectID) string { return id.String() }
