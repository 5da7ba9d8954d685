package layout

import (
	"path"
	"strings"

	"syncd/internal/manifest"
)

// Place returns the path of a file in the updater's own arrangement, which its -g option
// writes and its shipped maps use. Folders have lower case. An Interface file of any
// system or architecture has no folder for it. A Product has no place in a map; it lies
// in the folder of its manifest.
func Place(manifestName string, ref manifest.Reference) string {
	switch ref.Class() {
	case manifest.Data:
		return path.Join(manifestName, "data", ref.Name())
	case manifest.Interface:
		return path.Join(manifestName, interfacePath(ref))
	default:
		return path.Join(manifestName, ref.Path())
	}
}

// interfacePath returns interfaces/[<os>/]<language>/[<architecture>/]<name>.
func interfacePath(ref manifest.Reference) string {
	p := ref.Parts()
	if strings.EqualFold(p.OS, anySystem) {
		p.OS = ""
	}
	if strings.EqualFold(p.Architecture, anySystem) {
		p.Architecture = ""
	}
	return p.Reference().Path() // leaves empty segments out
}

// anySystem stands for every system, compiler or architecture.
const anySystem = "ANY"
