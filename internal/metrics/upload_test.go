package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The alert tells of publications and of collections: the earliest failure counts, and each
// ends by itself.
func TestFailingSinceIsThatOfPublicationsAndCollections(t *testing.T) {
	m, reg := used(t)
	m.UploadsNothing()
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	for i, step := range []struct {
		do   func()
		want int
	}{
		{func() { m.CollectionEnded(true, at(10)) }, 10},
		{func() { m.UploadEnded("failed", 0, at(20)) }, 10},
		{func() { m.CollectionEnded(true, at(30)) }, 10},
		{func() { m.CollectionEnded(false, at(40)) }, 20},
		{func() { m.UploadEnded("published", 3, at(50)) }, 0},
		{func() { m.UploadedBefore(3, time.Time{}, at(7)) }, 7},
		{func() { m.UploadEnded("unchanged", 3, at(60)) }, 7},
		{func() { m.UploadsNothing() }, 0},
	} {
		step.do()
		if line := fmt.Sprintf("\nsyncd_publish_failing_since_timestamp_seconds %d\n", step.want); !strings.Contains(scrape(reg), line) {
			t.Errorf("step %d: not%s", i, line)
		}
	}
}
