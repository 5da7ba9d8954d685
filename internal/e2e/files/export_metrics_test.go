package files_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/e2e"
)

// viewSeries are the series of views and exports that are not 0, with times as T.
func viewSeries(p *e2e.Process) string {
	_, text := p.Get("/metrics")
	var lines []string
	for line := range strings.Lines(text) {
		if regexp.MustCompile(`^syncd_(view|export|orphaned)_.*[^ ]+ [^0]`).MatchString(line) {
			lines = append(lines, strings.TrimSpace(regexp.MustCompile(` 1\.\d+e\+09`).ReplaceAllString(line, " T")))
		}
	}
	return strings.Join(lines, "\n")
}

func TestSeriesTellSinceWhenAnExportDoesNotFollow(t *testing.T) {
	t.Parallel()
	h, folder := exportHost(t)
	const follows = `syncd_export_state{state="in_sync",view="flat"} 1
syncd_export_state{state="in_sync",view="refdata"} 1
syncd_view_state{state="in_sync",view="flat"} 1
syncd_view_state{state="in_sync",view="refdata"} 1`
	refused := strings.Replace("syncd_export_behind_since_timestamp_seconds{view=\"refdata\"} T\n"+follows, `{state="in_sync",view="refdata"}`, `{state="refused",view="refdata"}`, 1)
	p := h.SyncedDaemon()
	e2e.Same(h, "at first", follows, viewSeries(p))

	h.Must(os.WriteFile(filepath.Join(folder, "extra"), nil, 0o644))
	publishText(h, "2026.11", "two")
	h.Expect(1, "sync")
	e2e.Same(h, "with a changed folder", refused, viewSeries(p))
	p.Terminate()
	h.Provider.Close()
	p = h.Daemon()
	h.Eventually("a restart shows it, too", func() bool { return viewSeries(p) == refused })
	h.Expect(1, "sync", "--take-over", "refdata")
	e2e.Same(h, "after the take-over", follows, viewSeries(p))

	all := h.Settings.More
	h.Settings.More, _, _ = strings.Cut(all, "\n  - {name: flat")
	h.Configure()
	p.Signal(syscall.SIGHUP)
	h.Eventually("the series of a removed view go", func() bool {
		return viewSeries(p) == "syncd_export_state{state=\"in_sync\",view=\"refdata\"} 1\nsyncd_orphaned_manifests 1\nsyncd_view_state{state=\"in_sync\",view=\"refdata\"} 1"
	})
	p.Terminate()
}
