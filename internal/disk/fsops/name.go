package fsops

import (
	"fmt"
	"regexp"
	"strings"
)

// device matches the names of devices, with or without an extension.
var device = regexp.MustCompile(`^(?i:con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\..*)?$`)

// shortName matches the second names that Windows gives to files with long names.
var shortName = regexp.MustCompile(`^[^.]{1,6}~[0-9]+(\.[^.]{0,3})?$`)

// checkWindowsName refuses a name of one segment by which Windows would open a device, a
// stream, or a file of another name.
func checkWindowsName(name string) error {
	const next = "get this file on Linux"
	switch {
	case device.MatchString(name):
		return fmt.Errorf("%q is a device on Windows: %s", name, next)
	case strings.ContainsAny(name, `<>:"/\|?*`) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }):
		return fmt.Errorf("%q is no file name on Windows: %s", name, next)
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " "):
		return fmt.Errorf("%q would lose its last character on Windows: %s", name, next)
	case shortName.MatchString(name):
		return fmt.Errorf("%q may be the short name of another file on Windows: %s", name, next)
	}
	return nil
}
