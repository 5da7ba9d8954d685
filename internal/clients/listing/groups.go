package listing

import (
	_ "embed"
	"slices"
	"strings"

	"syncd/internal/clients/wire"
)

// Group names the kind of records in a list.
type Group string

// The groups.
const (
	MAK           Group = "MAK"
	NewMovers     Group = "NewMovers"
	NewHomeowners Group = "NewHomeowners"
	Consumer      Group = "Consumer"
	ConsumerTwo   Group = "ConsumerTwo"
	Business      Group = "Business"
)

// Groups returns all groups.
func Groups() []Group {
	return []Group{MAK, NewMovers, NewHomeowners, Consumer, ConsumerTwo, Business}
}

var records = map[Group]string{
	MAK: "addresses", NewMovers: "new movers", NewHomeowners: "new homeowners",
	Consumer: "consumers", ConsumerTwo: "consumers (second source)", Business: "businesses",
}

var (
	//go:embed filters.txt
	filtersText string
	//go:embed columns.txt
	columnsText string

	filters = linesByGroup(filtersText)
	columns = linesByGroup(columnsText)
)

// linesByGroup reads an embedded file, in which the name of a group in brackets
// stands above its lines.
func linesByGroup(text string) map[Group][]string {
	lines := map[Group][]string{}
	var group Group
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			group = Group(strings.Trim(line, "[]"))
		default:
			lines[group] = append(lines[group], line)
		}
	}
	return lines
}

// Columns returns the known columns of a group, with the vendor's word in them.
// Other columns can be asked for too.
func Columns(group Group, prefix string) []string {
	names := slices.Clone(columns[group])
	for i, name := range names {
		names[i] = wire.WithPrefix(name, prefix)
	}
	return names
}
