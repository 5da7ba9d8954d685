// Package repair replaces damaged files by proven copies: of the object if that is whole,
// else of the provider. It runs beside syncs, and shares their downloads.
package repair
