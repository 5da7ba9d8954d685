package command

import (
	"slices"
	"strings"
)

// private are the beginnings of the names of variables that no command gets: those of the
// Customer ID, of what systemd tells its service, of another command's views, and of the
// token for the collector of traces.
var private = []string{"SYNCD_CUSTOMER_ID", "SYNCD_VIEW_", "MD_LICENSE", "CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET", "WATCHDOG_", "LISTEN_",
	"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"}

// Environ returns the variables of environ that a command of the operator may have: none of
// the private ones, and none that holds a secret.
func Environ(environ []string, holdsSecret func(variable string) bool) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		isPrivate := func(name string) bool { return strings.HasPrefix(variable, name) }
		return slices.ContainsFunc(private, isPrivate) || holdsSecret(variable)
	})
}
