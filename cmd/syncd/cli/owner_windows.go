package cli

// BecomeOwner does nothing: access lists say who may use a folder.
func BecomeOwner(string) error { return nil }
