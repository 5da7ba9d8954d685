package layout

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"syncd/internal/manifest"
)

// WriteMap returns the map that the updater's -g option writes for a manifest: each file
// at its Place. Lines end in LF. Its error names a file that a map cannot hold.
func WriteMap(manifestName string, refs []manifest.Reference) ([]byte, error) {
	var b bytes.Buffer
	for _, ref := range refs {
		line, err := mapLine(manifestName, ref)
		if err != nil {
			return nil, err
		}
		b.WriteString(line)
	}
	return b.Bytes(), nil
}

func mapLine(manifestName string, ref manifest.Reference) (string, error) {
	p := ref.Parts()
	kind, known := types[p.Class]
	if !known {
		return "", fmt.Errorf("%s: a map file has no lines for class %s", ref, p.Class)
	}
	fields := []string{
		p.Name, kind, cmp.Or(p.OS, anySystem), cmp.Or(p.Compiler, p.Language, anySystem),
		cmp.Or(p.Architecture, anySystem), Place(manifestName, ref),
	}
	line := strings.Join(fields, "|")
	if strings.Count(line, "|") != len(fields)-1 {
		return "", fmt.Errorf("%s: a map file cannot hold a name with a |", ref)
	}
	return line + "\n", nil
}
