// Package daemon has the end-to-end tests of the daemon: signals, HTTP, users and systemd.
package daemon
