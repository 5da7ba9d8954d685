package config

import (
	"io/fs"
	"os/user"
	"strconv"
	"strings"

	"syncd/internal/config/document"
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
		"files":       document.Scalar(&p.Files, parseFileMode),
		"directories": document.Scalar(&p.Directories, parseDirectoryMode),
		"group":       document.Scalar(&p.Group, parseGroup),
	}
}

// parseFileMode accepts modes by which the owner can read and no one can write. All
// links to an object share its mode, so a reader that could write would change them all.
func parseFileMode(text string) (fs.FileMode, *document.Fault) {
	const next = `use a mode such as "0444", "0440" or "0555"`
	mode, ok := parseMode(text)
	switch {
	case !ok:
		return 0, refuseNumber(text, "is not an octal mode", next)
	case mode&0o222 != 0:
		return 0, document.Refuse("lets someone write: published files never change", next)
	case mode&0o400 == 0:
		return 0, document.Refuse("does not let syncd read the files", next)
	}
	return mode, nil
}

// parseDirectoryMode accepts modes by which only the owner can write.
func parseDirectoryMode(text string) (fs.FileMode, *document.Fault) {
	const next = `use a mode such as "0755" or "0750"`
	mode, ok := parseMode(text)
	switch {
	case !ok:
		return 0, refuseNumber(text, "is not an octal mode", next)
	case mode&0o022 != 0:
		return 0, document.Refuse("lets others write: only syncd may change the mirror", next)
	case mode&0o700 != 0o700:
		return 0, document.Refuse("does not let syncd change the directories", next)
	}
	return mode, nil
}

// parseMode reads three octal digits, with or without zeros in front.
func parseMode(text string) (fs.FileMode, bool) {
	digits, _ := strings.CutPrefix(text, "0o")
	mode, err := strconv.ParseUint(digits, 8, 32)
	return fs.FileMode(mode), err == nil && mode <= 0o777 && len(digits) >= 3
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
