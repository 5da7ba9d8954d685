package cli

import (
	"slices"

	"github.com/spf13/cobra"
)

// Group are commands that the help shows together.
type Group struct {
	Title    string
	Commands []string
}

// Groups are the groups of the help, the commands of every day first. docs/operating.md has
// the same ones.
func Groups() []Group {
	return []Group{
		{"Every day", []string{"status", "explain", "history", "sync", "rollback", "verify", "doctor", "config", "manifests", "files"}},
		{"Decide what is served", []string{"activate", "pin", "unpin", "hold", "skip", "forget", "destroy"}},
		{"Get from the provider", []string{"releases", "get", "call"}},
		{"Look closer", []string{"changes", "estimate", "probe", "readers", "served", "destroyed", "deliveries", "healthcheck"}},
		{"Serve other hosts", []string{"lock", "serve-id", "fleet", "publish", "bundle", "trust"}},
		{"Move in", []string{"setup", "adopt", "map"}},
		{"Try", []string{"demo", "emulator"}},
		{"Run", []string{"run", "version", "completion", "help"}},
	}
}

// AddGroups puts the commands of root into their groups. A group without a command that
// works here is left out.
func AddGroups(root *cobra.Command) {
	for _, group := range Groups() {
		isUsed := false
		for _, cmd := range root.Commands() {
			if cmd.Hidden || !slices.Contains(group.Commands, cmd.Name()) {
				continue
			}
			cmd.GroupID, isUsed = group.Title, true
		}
		if isUsed {
			root.AddGroup(&cobra.Group{ID: group.Title, Title: group.Title + ":"})
		}
		if slices.Contains(group.Commands, "help") {
			root.SetHelpCommandGroupID(group.Title)
		}
	}
}
