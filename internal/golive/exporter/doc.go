// Package exporter makes the exported folders follow what is served, outside of the turn,
// because copies to another file system take long. Package mirror/export has the steps of one
// folder on disk.
package exporter
