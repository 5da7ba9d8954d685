// Package silence finds syncs that do not move because the provider is silent. A wait that the
// provider asked for is no silence.
package silence
