package patches

// Room is what patches may still take. They leave free what another release of all that is
// served would take, but not more than a tenth of the file system.
func Room(free, volume, served int64) int64 { return free - min(served, volume/10) }
