package doctor

import (
	"context"
	"errors"
	"time"

	rules "syncd/deploy/prometheus"
	"syncd/internal/alert"
	"syncd/internal/metrics"
)

// checkAlerts judges the shipped alerts by the metrics of the running daemon.
func (e *examination) checkAlerts(ctx context.Context) []Finding {
	if e.engine == nil {
		return []Finding{skipped("not checked, because no daemon runs")}
	}
	samples, err := e.engine.Samples(ctx)
	if err != nil {
		return []Finding{skipped("the running daemon does not tell its metrics: %v", err)}
	}
	all, err := alert.Parse(rules.Rules)
	if err != nil {
		return []Finding{failing(err, "report this as a bug")}
	}
	return orGood(judge(all, samples, time.Now()), "no alert would fire")
}

// briefly is the longest time that an alert may wait for and still count as firing now: one
// look does not tell how long the expression has held.
const briefly = 15 * time.Minute

func judge(all []alert.Rule, samples []metrics.Sample, now time.Time) (found []Finding) {
	for _, rule := range all {
		alerts, err := rule.Judge(samples, now)
		if err != nil && !errors.Is(err, alert.ErrUnjudged) {
			found = append(found, failing(err, "report this as a bug"))
		}
		for _, a := range alerts {
			if a.Lasting() > briefly {
				found = append(found, hint(a.Description, "%s would fire if this lasts for %s: %s", a.Name, a.For, a.Summary))
			} else {
				found = append(found, failure(a.Description, "%s would fire: %s", a.Name, a.Summary))
			}
		}
	}
	return found
}
