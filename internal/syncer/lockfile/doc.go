// Package lockfile holds the lock file: it names exactly what one host serves, so that
// another host can make the same. It has no times, so that equal mirrors have equal lock
// files.
package lockfile
