//go:build !linux

package fsops

// Outside is no user: user namespaces are Linux's.
func Outside() int { return -1 }
