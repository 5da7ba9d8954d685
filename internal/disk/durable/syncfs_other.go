//go:build !linux

package durable

import "syncd/internal/disk/fsops"

// HasReliableSyncfs is false: other systems cannot wait for a whole file system.
func HasReliableSyncfs(*fsops.Dir) bool { return false }

// dirtyBytes is 0, because the system does not tell.
func dirtyBytes() int64 { return 0 }
