package golive

import (
	"time"

	"syncd/internal/hooks/outbox"
	"syncd/internal/manifest/refusal"
	"syncd/internal/report"
	"syncd/internal/store"
)

// Command is what the operations by command have in common. Its owner adds Propose and
// Settle.
type Command struct {
	*Tree
	Started time.Time
	Result  report.Sync

	trigger string
}

// NewCommand returns the beginning of an operation with the trigger that the history shows.
func NewCommand(t *Tree, trigger string) Command {
	return Command{Tree: t, trigger: trigger, Started: time.Now(), Result: report.Sync{
		Generation: t.Mirror.Current().Number, Manifests: []report.ManifestResult{},
	}}
}

// Leave does nothing: the error of a command names the manifests that it left out.
func (c *Command) Leave([]string, []string, error) {}

// Recorded returns the error of the command.
func (c *Command) Recorded(err error) error { return err }

// Settled fills the result with what was published. It is false if nothing was.
func (c *Command) Settled(o Outcome) bool {
	c.Result.Generation, c.Result.Changed, c.Result.Views = o.After.Number, o.Moved(), o.Views
	return o.Moved()
}

// Record is the record of a command with changes of the state.
func (c *Command) Record(changes store.Changes, news outbox.News) *Commit {
	changes.History = EntryOf(c.trigger, c.Started, c.Result)
	return &Commit{Changes: changes, News: news}
}

// CountExpired shows in the metrics that a command was refused for the age of data.
func (c *Command) CountExpired(names []string, why error) {
	for _, name := range names {
		if refusal.ReasonOf(why) == refusal.Expired {
			c.Metrics.Synced(name, string(report.Refused), string(refusal.Expired))
		}
	}
}
