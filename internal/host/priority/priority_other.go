//go:build !linux

package priority

// Lower does nothing.
func Lower() error { return nil }
