package signature

// mayStart is nil: access lists say who may change the shared files.
func mayStart() error { return nil }
