package main

var here = windows

// becomeOwner does nothing: access lists say who may use a folder.
func becomeOwner(string) error { return nil }
