// Package ring reads the rings of followers in a configuration.
package ring
