//go:build !linux

package fsops

// WriterInACL is "" where lists have another form.
func WriterInACL(string, int) string { return "" }
