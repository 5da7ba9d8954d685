package daemon

import (
	"reflect"
	"slices"

	"syncd/internal/config"
	"syncd/internal/host/clock"
	"syncd/internal/report/request"
)

// reload puts the configuration file in force and queues the manifests that it
// adds or changes. A file with errors changes nothing.
func (d *Daemon) reload(q *queue) {
	before := d.engine.Config()
	if err := d.configure(before); err != nil {
		d.engine.ReloadFailed()
		d.log.Error().Err(err).Msg("configuration not reloaded: the old one stays in force")
		return
	}
	changed := changedManifests(before, d.engine.Config())
	d.log.Info().Strs("changed", changed).Msg("configuration reloaded")
	q.due(changed, request.TriggerReload)
	d.timetable.plan(d.engine.Config(), clock.Now(), before)
}

// configure reads the configuration file and puts it in force, but for the
// settings that need a restart.
func (d *Daemon) configure(before *config.Config) error {
	cfg, err := d.load()
	if err != nil {
		return err
	}
	if cfg.DataDir != before.DataDir || !reflect.DeepEqual(cfg.HTTP, before.HTTP) {
		d.log.Warn().Msg("data_dir and http take effect at a restart: the old values stay in force")
		cfg.DataDir, cfg.HTTP = before.DataDir, before.HTTP
	}
	if !cfg.Serve.SameServer(before.Serve) {
		d.log.Warn().Msg("listen, public_url, web_config and ids_file of serve take effect at a restart: the old values stay in force")
		cfg.Serve = cfg.Serve.WithServer(before.Serve)
	}
	if !reflect.DeepEqual(cfg.Tracing, before.Tracing) {
		d.log.Warn().Msg("tracing takes effect at a restart: the old value stays in force")
		cfg.Tracing = before.Tracing
	}
	return d.engine.Configure(cfg)
}

// changedManifests names the manifests whose files may differ under cfg.
func changedManifests(before, cfg *config.Config) []string {
	var changed []string
	for _, m := range cfg.Manifests {
		i := slices.IndexFunc(before.Manifests, func(old config.Manifest) bool { return old.Name == m.Name })
		if i < 0 || !sameFiles(before.Manifests[i], m) || !sameSource(before.Source, cfg.Source) {
			changed = append(changed, m.Name)
		}
	}
	if len(changed) == 0 && !sameViews(before, cfg) { // the sync of any manifest makes all views
		changed = append(changed, cfg.Manifests[0].Name)
	}
	return changed
}

// sameViews is true when readers see the same views with the same permissions.
func sameViews(a, b *config.Config) bool {
	same := func(v, w config.View) bool {
		return v.Name == w.Name && slices.Equal(v.Manifests, w.Manifests) && v.Layout == w.Layout && v.HashFiles == w.HashFiles &&
			slices.EqualFunc(v.MapFiles, w.MapFiles, func(m, n config.MapFile) bool { return m.Manifest == n.Manifest && m.Path == n.Path })
	}
	return slices.EqualFunc(a.Views, b.Views, same) && a.Permissions == b.Permissions
}

// sameFiles is true when both mirror the same files; their schedules may differ.
func sameFiles(a, b config.Manifest) bool {
	a.Schedule = b.Schedule
	return reflect.DeepEqual(a, b)
}

func sameSource(a, b config.Source) bool {
	return a.URL.String() == b.URL.String() && a.Hash == b.Hash
}
