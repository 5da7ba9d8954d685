package promotion

import (
	"fmt"
	"testing"
	"time"
)

var (
	live  = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	v     = Version{"2026.11", "0123456789ab"}
	rest  = Ring{Name: "rest", Delay: time.Hour, StopAbove: 0.3, AfterShare: 0.8, AfterHosts: 3, MaxWait: 48 * time.Hour}
	three = Rings{{Name: "canary", StopAbove: -1}, rest, {Name: "last", Delay: 2 * time.Hour, StopAbove: -1}}
)

// hosts of an ID; proving and refusing of them come first.
type hosts struct{ present, proving, refusing, silent int }

func tally(ids map[string]hosts) *Tally {
	t := &Tally{}
	for id, h := range ids {
		for n := range h.present {
			vote := Vote{IsPresent: true}
			if n < h.proving {
				vote.Proves = v
			}
			if n < h.refusing {
				vote.Refuses = v
			}
			t.Add(id, vote, 1)
		}
		for range h.silent {
			t.Add(id, Vote{Proves: v}, 1)
		}
	}
	return t
}

func many(ids int, h hosts) map[string]hosts {
	all := map[string]hosts{}
	for n := range ids {
		all[fmt.Sprint("db", n)] = h
	}
	return all
}

func with(ids map[string]hosts, id string, h hosts) map[string]hosts {
	ids[id] = h
	return ids
}

func TestHostsProveARelease(t *testing.T) {
	serves, lacks, gone := hosts{present: 1, proving: 1}, hosts{present: 1}, hosts{silent: 1}
	for name, row := range map[string]struct {
		ids  map[string]hosts
		want bool
	}{
		"nobody":                                      {nil, false},
		"all of three":                                {many(3, serves), true},
		"too few":                                     {many(2, serves), false},
		"four of five are 80 %":                       {with(many(4, serves), "e", lacks), true},
		"three of four are not":                       {with(many(3, serves), "e", lacks), false},
		"a silent host is no success":                 {with(many(2, serves), "e", gone), false},
		"a silent host is none of those seen":         {with(many(3, serves), "e", gone), true},
		"all are silent":                              {many(5, gone), false},
		"one ID for all, three of three":              {map[string]hosts{"k8s": {present: 3, proving: 3}}, true},
		"one ID for all, 7 of 9":                      {map[string]hosts{"k8s": {present: 9, proving: 7}}, false},
		"one ID for all, 8 of 10":                     {map[string]hosts{"k8s": {present: 10, proving: 8}}, true},
		"invented hosts do not promote":               {with(many(3, lacks), "evil", hosts{present: 999, proving: 999}), false},
		"invented hosts promote not for silent ones":  {with(many(3, gone), "evil", hosts{present: 999, proving: 999}), false},
		"invented hosts hold up only by their vote":   {with(many(4, serves), "evil", hosts{present: 999}), true},
		"two IDs: each supplies at most two of three": {map[string]hosts{"a": {present: 9, proving: 9}, "b": {present: 1, proving: 1}}, true},
		"two IDs: one alone is not enough":            {map[string]hosts{"a": {present: 9, proving: 9}, "b": {silent: 1}}, false},
	} {
		if got := (Ballot{Tally: tally(row.ids)}).Proves(v, rest); got != row.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	any3 := Ring{Name: "rest", AfterHosts: 3}
	if !(Ballot{Tally: tally(with(many(3, serves), "e", hosts{present: 50}))}.Proves(v, any3)) {
		t.Error("three hosts are enough without a share")
	}
}

func TestAnIDStopsNoMoreThanItsShare(t *testing.T) {
	for name, row := range map[string]struct {
		ids  map[string]hosts
		want bool
	}{
		"invented hosts refuse":                    {with(many(3, hosts{present: 1}), "evil", hosts{present: 999, refusing: 999}), false},
		"two of four":                              {map[string]hosts{"a": {present: 1, refusing: 1}, "b": {present: 1, refusing: 1}, "c": {present: 1}, "d": {present: 1}}, true},
		"invented hosts do not thin out refusals":  {map[string]hosts{"a": {present: 1, refusing: 1}, "b": {present: 1, refusing: 1}, "evil": {present: 999}}, true},
		"one ID for all, 3 of 10 are not above":    {map[string]hosts{"k8s": {present: 10, refusing: 3}}, false},
		"one ID for all, 4 of 10 are":              {map[string]hosts{"k8s": {present: 10, refusing: 4}}, true},
		"hosts that are silent count for the stop": {map[string]hosts{"a": {present: 1, refusing: 1}, "b": {silent: 1}, "c": {silent: 1}, "d": {silent: 1}}, false},
	} {
		all := tally(row.ids)
		if _, _, got := three.Stopped(v, func(ring string) Ballot {
			if ring == "canary" {
				return Ballot{Tally: all}
			}
			return Ballot{}
		}); got != row.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// IDs of a ring of which nothing was heard yet have their votes, too.
func TestAnIDThatAsksFirstIsNotTheWholeRing(t *testing.T) {
	share, any1 := Ring{Name: "rest", StopAbove: 0.3, AfterShare: 0.8, AfterHosts: 1}, Ring{Name: "rest", StopAbove: -1, AfterHosts: 3}
	first, invented := map[string]hosts{"first": {present: 1, proving: 1}}, map[string]hosts{"evil": {present: 99, proving: 99, refusing: 99}}
	for name, row := range map[string]struct {
		ids           map[string]hosts
		ring          Ring
		named         int
		proves, stops bool
	}{
		"alone, and nobody else is named":   {first, share, 1, true, false},
		"alone of five":                     {first, share, 5, false, false},
		"four of five":                      {many(4, hosts{present: 1, proving: 1}), share, 5, true, false},
		"three of five":                     {many(3, hosts{present: 1, proving: 1}), share, 5, false, false},
		"more than are named":               {many(5, hosts{present: 1, proving: 1}), share, 3, true, false},
		"invented hosts of one of four":     {invented, share, 4, false, false},
		"invented hosts of one of three":    {invented, share, 3, false, true},
		"three hosts of one of three":       {invented, any1, 3, false, false},
		"three hosts of one that is alone":  {invented, any1, 1, true, false},
		"any three of many":                 {many(3, hosts{present: 1, proving: 1}), any1, 1000, true, false},
		"two of four refuse":                {many(2, hosts{present: 1, refusing: 1}), share, 4, false, true},
		"one of four refuses":               {many(1, hosts{present: 1, refusing: 1}), share, 4, false, false},
		"silent ones count once, if at all": {map[string]hosts{"a": {present: 1, proving: 1}, "b": {silent: 1}}, share, 2, false, false},
	} {
		ballot := Ballot{Tally: tally(row.ids), Named: row.named}
		if got := ballot.Proves(v, row.ring); got != row.proves {
			t.Errorf("%s: proves %t", name, got)
		}
		_, _, stops := Rings{{Name: "canary", StopAbove: -1}, row.ring}.Stopped(v, func(ring string) Ballot {
			if ring == "canary" {
				return ballot
			}
			return Ballot{}
		})
		if stops != row.stops {
			t.Errorf("%s: stops %t", name, stops)
		}
	}
}

// A tally forgets hosts as it counted them.
func TestVotesAreTakenBack(t *testing.T) {
	all := tally(with(many(3, hosts{present: 1, proving: 1}), "evil", hosts{present: 2, refusing: 1}))
	all.Add("evil", Vote{IsPresent: true, Refuses: v}, -1)
	all.Add("evil", Vote{IsPresent: true}, -1)
	if !(Ballot{Tally: all}.Proves(v, rest)) || all.Hosts() != 3 || all.Refused(v) != 0 || len(all.RefusedVersions()) != 0 {
		t.Errorf("%+v", all)
	}
}

func TestRingsBeginOneAfterAnother(t *testing.T) {
	proven := func(ring string) Ballot {
		if ring == "canary" {
			return Ballot{Tally: tally(many(3, hosts{present: 1, proving: 1}))}
		}
		return Ballot{}
	}
	none := func(string) Ballot { return Ballot{} }
	began := map[string]time.Time{"rest": live.Add(5 * time.Hour)}
	for name, row := range map[string]struct {
		ring  string
		after time.Duration
		past  Past
		votes Votes
		want  Decision
	}{
		"the first":                         {"canary", 0, Past{}, none, Decision{Begun: true, At: live}},
		"before the delay, proven":          {"rest", time.Minute, Past{}, proven, Decision{}},
		"after the delay, not proven":       {"rest", 2 * time.Hour, Past{}, none, Decision{Waits: true, Since: live.Add(time.Hour)}},
		"after the delay, proven":           {"rest", 2 * time.Hour, Past{}, proven, Decision{Begun: true, IsNew: true, At: live.Add(2 * time.Hour)}},
		"proven before":                     {"rest", 9 * time.Hour, Past{Begun: began}, none, Decision{Begun: true, At: began["rest"]}},
		"without votes":                     {"rest", 2 * time.Hour, Past{}, nil, Decision{Waits: true, Since: live.Add(time.Hour)}},
		"let go before the delay":           {"rest", time.Minute, Past{LetGo: true}, none, Decision{}},
		"let go after the delay":            {"rest", 2 * time.Hour, Past{LetGo: true}, none, Decision{Begun: true, At: live.Add(time.Hour)}},
		"a ring behind one that waits":      {"last", 3 * time.Hour, Past{}, none, Decision{}},
		"a ring behind one that began":      {"last", 9 * time.Hour, Past{Begun: began}, none, Decision{Begun: true, At: began["rest"]}},
		"the clock was set back":            {"rest", -time.Hour, Past{}, proven, Decision{}},
		"a ring that is not configured":     {"gone", 9 * time.Hour, Past{Begun: began}, none, Decision{Begun: true, At: began["rest"]}},
		"a proof of the ring before counts": {"last", 3 * time.Hour, Past{}, proven, Decision{Begun: true, At: live.Add(3 * time.Hour)}},
	} {
		row.past.Version, row.past.LiveAt = v, live
		place, _ := three.Place(row.ring)
		if got := three.Decide(place, row.past, live.Add(row.after), row.votes); got != row.want {
			t.Errorf("%s: %+v, want %+v", name, got, row.want)
		}
	}
	waits := Decision{Waits: true, Since: live}
	if waits.IsOverdue(rest, live.Add(47*time.Hour)) || !waits.IsOverdue(rest, live.Add(48*time.Hour)) {
		t.Error("max_wait")
	}
}
