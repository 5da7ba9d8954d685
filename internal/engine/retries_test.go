package engine

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"syncd/internal/clients/transport"
	"syncd/internal/report/progress"
)

// Three manifests of a dead provider fail twice a second.
func TestTheLogHasOneLineAMinuteAboutRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := &retries{hooks: &Hooks{base: &base{options: Options{Log: zerolog.New(&log)}}}, progress: &progress.Tracker{}}
		lines := func() int { return strings.Count(log.String(), "\n") }
		began := time.Now()
		for time.Since(began) < 59*time.Second {
			for _, name := range []string{"a", "b", "c"} {
				r.tell(name, transport.Trouble{Err: errors.New("refused"), Attempt: 1, Since: began, Next: time.Now().Add(time.Second)})
			}
			time.Sleep(500 * time.Millisecond)
		}
		if got := lines(); got != 1 {
			t.Errorf("%d lines in the first minute, want 1:\n%s", got, &log)
		}
		time.Sleep(2 * time.Second)
		r.tell("a", transport.Trouble{Err: errors.New("refused"), Attempt: 120, Since: began})
		if got := lines(); got != 2 || !strings.Contains(log.String(), `"attempt":120`) || !strings.Contains(log.String(), "no answer yet") {
			t.Errorf("%d lines after a minute, want 2:\n%s", got, &log)
		}
	})
}
