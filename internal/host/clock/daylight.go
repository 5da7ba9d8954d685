package clock

import "time"

// FirstShowing is when the clocks of a zone first show a time, which is given in UTC. For a
// time that daylight saving skips, it is the moment of the skip.
func FirstShowing(shown time.Time, zone *time.Location) time.Time {
	_, before := shown.Add(-36 * time.Hour).In(zone).Zone()
	_, after := shown.Add(36 * time.Hour).In(zone).Zone()
	for _, offset := range []int{before, after} {
		at := shown.Add(-time.Duration(offset) * time.Second).In(zone)
		if _, inForce := at.Zone(); inForce == offset {
			return at
		}
	}
	skip, _ := shown.Add(-time.Duration(before) * time.Second).In(zone).ZoneBounds()
	return skip
}
