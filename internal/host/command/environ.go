package command

import (
	"slices"
	"strings"
)

// Environ returns the variables of environ that a command may have: not the Customer ID,
// in its usual variables or anywhere else, and not what systemd tells its service.
func Environ(environ []string, secrets ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, value, _ := strings.Cut(variable, "=")
		switch name {
		case "SYNCD_CUSTOMER_ID", "MD_LICENSE", "CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC":
			return true
		}
		return slices.ContainsFunc(secrets, func(secret string) bool { return secret != "" && strings.Contains(value, secret) })
	})
}
