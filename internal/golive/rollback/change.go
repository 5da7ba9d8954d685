package rollback

import (
	"time"

	"syncd/internal/golive"
	"syncd/internal/mirror"
)

// ChangeTo returns the change that leads to a generation. A pin goes along.
func ChangeTo(tree *golive.Tree, goal, current mirror.Generation, targets golive.Targets) (change mirror.Change) {
	for _, t := range targets {
		then, shown := goal.Records[t.Name]
		now := current.Records[t.Name]
		if !shown || then.ID() == now.ID() {
			continue
		}
		served, _ := golive.Served(tree, t.Name)
		orders := served.Orders
		if orders.Pin != "" && orders.Pin != then.Release { // or the next sync would undo the rollback
			orders.Pin, orders.PinForced = then.Release, false
			if change.Orders == nil {
				change.Orders = map[string]mirror.Orders{}
			}
			change.Orders[t.Name] = orders
		}
		then = tree.Mirror.Records.Described(then)
		then.Held, then.PublishedAt = holdFrom(tree, t.With(orders), now, then), time.Now().UTC()
		change.Set = append(change.Set, then)
	}
	return change
}

// holdFrom is the hold of a manifest that goes from one record to another. Going
// forward ends a hold; a manifest that stays behind the release that it left keeps
// the hold from there, also if the configured release or the pin changed since.
func holdFrom(tree *golive.Tree, t golive.Target, now, then mirror.Record) *mirror.Hold {
	if hold := now.Held; hold != nil {
		if then.Release.Newer(hold.Release) || then.Release == hold.Release && then.Revision == hold.Revision {
			return nil
		}
		still := *hold
		still.Setting = t.Release
		return &still
	}
	if now.Manifest == "" || then.Release.Newer(now.Release) {
		return nil
	}
	return &mirror.Hold{
		Release: now.Release, Revision: now.Revision, Fingerprint: now.Fingerprint(),
		Setting: t.Release, Selection: tree.Selection(t),
	}
}
