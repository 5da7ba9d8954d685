package config

import (
	"io/fs"
	"os/user"
	"strconv"

	"syncd/internal/config/document"
	"syncd/internal/config/value"
)

// Permissions apply to all files and directories that readers see.
type Permissions struct {
	Files, Directories fs.FileMode
	Group              int // its number, or UnchangedGroup
}

// UnchangedGroup leaves the group of files as it is.
const UnchangedGroup = -1

func (p *Permissions) table() document.Table {
	return document.Table{
		"files":       document.Scalar(&p.Files, value.FileMode),
		"directories": document.Scalar(&p.Directories, value.DirectoryMode),
		"group":       document.Scalar(&p.Group, parseGroup),
	}
}

// parseGroup accepts the name or the number of a group. A number need not be known to
// the system, because a container may not know the groups of its host.
func parseGroup(text string) (int, *document.Fault) {
	const next = "use the name or the number of a group"
	if text == "" {
		return UnchangedGroup, nil
	}
	if known, err := user.LookupGroup(text); err == nil {
		text = known.Gid
	}
	number, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, document.Refuse("is not a group of this system", next)
	}
	return int(number), nil
}

// parseRemoved reads whether manifests and views that left the configuration go at once.
func parseRemoved(text string) (drop bool, f *document.Fault) {
	switch text {
	case "keep":
		return false, nil
	case "drop":
		return true, nil
	}
	return false, document.Refuse("is neither keep nor drop", "use keep, or drop to remove what left the configuration at once")
}
