package reversegeo

import (
	"cmp"
	"fmt"
	"slices"

	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/service"
	"syncd/internal/emulator/wire"
)

// doLookupFromList answers with the caller's targets that are nearest to the
// origin.
func (l lookups) doLookupFromList(c *service.Call) {
	from, known, ok := l.listOrigin(c)
	if !ok || !l.checkTargets(c) {
		return
	}
	if !known {
		c.Reply(nil)
		return
	}
	targets := l.targets(c, from)
	var rows []wire.Fields
	for _, t := range targets[:min(len(targets), from.records)] {
		rows = append(rows, append(l.addressRow(t.found), wire.Field{Key: "RecordID", Value: t.id}))
	}
	replyNear(c, rows)
}

// listOrigin reads the origin, a point or the key of an address. known is false
// for a key that the world lacks.
func (l lookups) listOrigin(c *service.Call) (from origin, known, ok bool) {
	key := c.Value(l.addressKey)
	if key == "" || c.First("Latitude", "Longitude") != "" {
		from, ok = readOrigin(c)
		return from, true, ok
	}
	if from, ok = readBounds(c); !ok {
		return from, false, false
	}
	a := l.world.ByMAK(key)
	if a == nil {
		return from, false, true
	}
	from.lat, from.lon = a.Latitude, a.Longitude
	return from, true, true
}

// checkTargets returns whether the targets are complete. It answers when they are
// not.
func (l lookups) checkTargets(c *service.Call) bool {
	switch n := len(c.Records()); {
	case n == 0:
		c.Refuse("GE02")
		return false
	case n > maxTargets:
		c.Refuse("GE03")
		return false
	}
	var faulty []service.FaultyInput
	for i, r := range c.Records() {
		for _, name := range []string{l.addressKey, "RecordID"} {
			if r.Value(name) == "" {
				faulty = append(faulty, service.FaultyInput{Name: fmt.Sprintf("Records[%d].%s", i, name), Text: "The " + name + " field is required."})
			}
		}
	}
	if len(faulty) > 0 {
		c.Invalid(faulty...)
	}
	return len(faulty) == 0
}

// target is an address of the caller's list, with the caller's own id.
type target struct {
	found gazetteer.Found
	id    string
}

// targets returns the targets within the bounds, the nearest first. It leaves out
// keys that the world lacks.
func (l lookups) targets(c *service.Call, from origin) []target {
	in := readInclude(c)
	var near []target
	for _, r := range c.Records() {
		a := l.world.ByMAK(r.Value(l.addressKey))
		if a == nil || !in.address(a) {
			continue
		}
		miles := gazetteer.Miles(from.lat, from.lon, a.Latitude, a.Longitude)
		if miles <= from.miles {
			near = append(near, target{gazetteer.Found{Address: a, Miles: miles}, r.Value("RecordID")})
		}
	}
	slices.SortStableFunc(near, func(a, b target) int { return cmp.Compare(a.found.Miles, b.found.Miles) })
	return near
}
