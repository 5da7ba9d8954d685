// Package cli holds what all commands share: the configuration file, outputs that show no
// secret, errors of usage, and the ways to an engine and to the provider.
package cli
