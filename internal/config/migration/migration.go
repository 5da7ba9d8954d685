package migration

import (
	"fmt"

	"syncd/internal/config/migration/commandline"
)

// Host is the machine, as far as texts name its files.
type Host struct {
	UsableMap func(path string) bool            // a map file can be read and parsed
	Read      func(path string) ([]byte, error) // a script or a file of variables
}

// Convert returns the configuration, as YAML, that does what the command lines in texts
// do. A text is a crontab, a script for a shell or for Windows, a task or a unit that
// starts the updater, a compose file, or single lines. A script that another text calls
// is read where it is called.
func Convert(texts []commandline.Text, host Host) ([]byte, error) {
	found, err := commandline.Read(texts, commandline.Host{Read: host.Read})
	if err != nil {
		return nil, err
	}
	p := &plan{secrets: found.Secrets, usableMap: host.UsableMap}
	for _, c := range found.Commands {
		p.add(c)
	}
	if len(p.entries) == 0 {
		return nil, fmt.Errorf("no command line of the updater that downloads something: expected `manifest -p NAME`, `product -p NAME` or `file -n NAME`%s%s", p.lookingLines(), found.Missing)
	}
	p.arrange()
	p.notes = append(p.notes, found.Notes...)
	return p.yaml(), nil
}
