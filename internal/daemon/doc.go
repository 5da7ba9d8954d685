// Package daemon keeps a data directory current: it runs an engine by the schedule, on
// signals and on requests of the API, and reports to systemd.
//
// READY=1 is sent once the lock, state, control socket and web server are up. The first
// sync runs beside that.
//
// The loop answers the watchdog at half of its interval or sooner. It never waits for
// the provider or the disk: syncs and the STATUS= line run in goroutines of their own.
// It keeps one merged wish for each manifest that waits for a sync, so that no signal
// is lost and the queue stays bounded. It does not start a wish while a sync that it
// started has the manifest.
//
// The unit sets GOTRACEBACK=crash. Without it, a crashed Go program exits with 2, the
// code of a configuration error, and RestartPreventExitStatus=2 would keep the daemon
// down.
package daemon
