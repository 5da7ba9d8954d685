package value

import (
	"io/fs"
	"strconv"
	"strings"

	"syncd/internal/config/document"
)

// FileMode accepts modes by which the owner can read and no one can write. All
// links to an object share its mode, so a reader that could write would change them all.
func FileMode(text string) (fs.FileMode, *document.Fault) {
	const next = `use a mode such as "0444", "0440" or "0555"`
	mode, ok := parseMode(text)
	switch {
	case !ok:
		return 0, RefuseNumber(text, "is not an octal mode", next)
	case mode&0o222 != 0:
		return 0, document.Refuse("lets someone write: published files never change", next)
	case mode&0o400 == 0:
		return 0, document.Refuse("does not let syncd read the files", next)
	}
	return mode, nil
}

// DirectoryMode accepts modes by which only the owner can write.
func DirectoryMode(text string) (fs.FileMode, *document.Fault) {
	const next = `use a mode such as "0755" or "0750"`
	mode, ok := parseMode(text)
	switch {
	case !ok:
		return 0, RefuseNumber(text, "is not an octal mode", next)
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
