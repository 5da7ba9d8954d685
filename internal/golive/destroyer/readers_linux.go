package destroyer

import (
	"syncd/internal/mirror"
	"syncd/internal/mirror/destroy"
	"syncd/internal/mirror/readers"
)

// readersOf names the processes that have files of a revision open or mapped.
func readersOf(m *mirror.Mirror, record mirror.Record) []destroy.Reader {
	list := []destroy.Reader{}
	found, _ := readers.OfRevision(m, "/proc", record) // what cannot be seen does not stop a destruction
	for _, r := range found {
		list = append(list, destroy.Reader{PID: r.PID, Command: r.Command, Files: r.Files})
	}
	return list
}
