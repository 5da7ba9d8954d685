// Package golive has the end-to-end tests of how a release goes live: gates, windows,
// activation, orders and hooks.
package golive
