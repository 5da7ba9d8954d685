package cli

import "syncd/internal/config"

// CheckPrograms is nil: gates and hooks run on Linux only.
func CheckPrograms(*config.Config) error { return nil }

// BecomeOwner does nothing: access lists say who may use a folder.
func BecomeOwner(string) error { return nil }
