package sources

import (
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/report"
	"syncd/internal/report/status"
)

// Status is the status of several sources; nil if there is one only. state is nil when there is
// no state database.
func Status(cfg *config.Config, state status.StateReader) ([]report.SourceStatus, error) {
	if len(cfg.Others) == 0 || state == nil {
		return nil, nil
	}
	known, err := state.Sources()
	if err != nil {
		return nil, err
	}
	var all []report.SourceStatus
	for _, s := range cfg.Sources() {
		shown := report.SourceStatus{Name: s.Name, Address: transport.PublicURL(s.URL), UsedSince: timeOrNull(known.Used[s.Name])}
		shown.InUse = shown.UsedSince != nil
		if f, isFailing := known.Failing[s.Name]; isFailing {
			shown.FailingSince, shown.NextTry, shown.Reason, shown.Error = timeOrNull(f.Since), timeOrNull(f.NextTry), f.Reason, f.Error
		}
		all = append(all, shown)
	}
	return all, nil
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
