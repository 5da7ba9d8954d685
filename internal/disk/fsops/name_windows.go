package fsops

// CheckName is nil for a name that means the file of this name and no other one.
func CheckName(name string) error { return checkWindowsName(name) }
