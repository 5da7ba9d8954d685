package report

import (
	"testing"
	"time"
)

func TestWhatIsRetriedIsSaidInWords(t *testing.T) {
	now := time.Date(2026, 11, 2, 4, 0, 0, 0, time.UTC)
	for want, retry := range map[string]Retry{
		"attempt 1 waits for an answer: no connection":                                                 {Attempt: 1, Error: "no connection", Since: now.Add(-2 * time.Second)},
		"attempt 2 failed, next attempt in 1.5s: refused":                                              {Attempt: 2, Error: "refused", Since: now.Add(-2 * time.Second), NextAt: now.Add(1510 * time.Millisecond)},
		"attempt 9 failed after 2m0s without success, next attempt in 0s: refused":                     {Attempt: 9, Error: "refused", Since: now.Add(-2 * time.Minute), NextAt: now.Add(-time.Second)},
		"attempt 10 waits for an answer after 12m5s without success; the last error: status 502 proxy": {Attempt: 10, Error: "status 502 proxy", Since: now.Add(-725 * time.Second)},
	} {
		if got := retry.Text(now); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
