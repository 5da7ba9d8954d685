// Package bundles makes bundles of what is live here, and takes data from bundles: from files
// that a command names, or from a folder that is watched.
package bundles
