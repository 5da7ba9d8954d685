package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// viewSeries are the series of views and exports that are not 0, with times as T.
func (p *process) viewSeries() string {
	_, text := p.get("/metrics")
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
	p := h.daemon()
	p.logged("sync")
	same(h, "at first", follows, p.viewSeries())

	h.must(os.WriteFile(filepath.Join(folder, "extra"), nil, 0o644))
	h.publishText("2026.11", "two")
	h.expect(1, "sync")
	same(h, "with a changed folder", refused, p.viewSeries())
	p.terminate()
	h.provider.Close()
	p = h.daemon()
	h.eventually("a restart shows it, too", func() bool { return p.viewSeries() == refused })
	h.expect(1, "sync", "--take-over", "refdata")
	same(h, "after the take-over", follows, p.viewSeries())

	all := h.settings.more
	h.settings.more, _, _ = strings.Cut(all, "\n  - {name: flat")
	h.configure()
	p.signal(syscall.SIGHUP)
	h.eventually("the series of a removed view go", func() bool {
		return p.viewSeries() == "syncd_export_state{state=\"in_sync\",view=\"refdata\"} 1\nsyncd_orphaned_manifests 1\nsyncd_view_state{state=\"in_sync\",view=\"refdata\"} 1"
	})
	p.terminate()
}
