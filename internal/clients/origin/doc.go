// Package origin computes the origin of a URL: scheme, host and port. The Customer ID
// and a cool-down belong to one origin.
package origin
