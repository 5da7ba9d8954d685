package blocks_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// export is what the readers of an exported folder may see.
type export struct {
	allowed map[bool]string // before the work, and after it
	ends    string          // after the next sync
	names   int             // in the export's own folder, after the next sync
}

// exported describes an exported folder, "" if there is none.
func (m *machine) exported() string {
	var all strings.Builder
	folder := filepath.Join(m.point, "srv", "v")
	names, _ := os.ReadDir(folder)
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(folder, name.Name()))
		fmt.Fprintf(&all, "%s %x %v\n", name.Name(), sha256.Sum256(data), err)
	}
	return all.String()
}

// exportNames is the number of names that the export keeps for itself.
func (m *machine) exportNames() int {
	names, _ := os.ReadDir(filepath.Join(m.point, "srv", ".v.syncd"))
	return len(names)
}

// checkExport returns an error if readers see a folder that no release has.
func (m *machine) checkExport(isReported bool) error {
	if m.export == nil {
		return nil
	}
	got := m.exported()
	if got == m.export.allowed[true] || !isReported && got == m.export.allowed[false] {
		return nil
	}
	return fmt.Errorf("after the crash, the export shows\n%swant\n%s", got, m.export.allowed[true])
}

// checkExportEnds returns an error if the next sync does not make the export as it was without
// a crash.
func (m *machine) checkExportEnds() error {
	if m.export == nil {
		return nil
	}
	if got, names := m.exported(), m.exportNames(); got != m.export.ends || names != m.export.names {
		return fmt.Errorf("in the end, the export shows\n%swith %d names of its own, want\n%swith %d", got, names, m.export.ends, m.export.names)
	}
	return nil
}
