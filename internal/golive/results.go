package golive

import (
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/report"
)

// resultOf is the outcome of a manifest whose record is served, without a download.
func resultOf(record mirror.Record, result report.Result) report.ManifestResult {
	return report.ManifestResult{
		Name: record.Manifest, Release: string(record.Release), Revision: record.Revision, Result: result,
		FilesTotal: len(record.Files), FilesReused: len(record.Files), BytesReused: record.Bytes,
	}
}

// stayResult is the outcome of a manifest that stays as it is, although its staged revision
// was to go live.
func stayResult(served mirror.Record, name, tried string, why error) report.ManifestResult {
	result := report.ManifestResult{
		Name: name, Release: string(served.Release), Revision: served.Revision, Result: report.Failed,
		Reason: string(refusal.ReasonOf(why)), Error: report.OneLine(why.Error()), Tried: tried,
	}
	if result.Reason != "" {
		result.Result = report.Refused
	}
	return result
}
