package emulator

import "syncd/internal/emulator/catalogue"

// The classes of files on the wire.
const (
	ClassData      = catalogue.ClassData
	ClassLibrary   = catalogue.ClassLibrary
	ClassInterface = catalogue.ClassInterface
	ClassProduct   = catalogue.ClassProduct
)

// File is a file of a release: the segments of its reference and its content.
type File = catalogue.File

// Content is the bytes of a file.
type Content = catalogue.Content

// Bytes returns a Content that holds b. The caller must not change b afterwards.
func Bytes(b []byte) Content { return catalogue.Bytes(b) }

// Text returns a Content that holds s.
func Text(s string) Content { return catalogue.Text(s) }

// OnDisk returns a Content that opens the file at path each time. It is served
// with sendfile. It counts as changed when its size or modification time changes.
func OnDisk(path string) Content { return catalogue.OnDisk(path) }

// Random returns a Content of size pseudo-random bytes, the same for the same
// seed. They are made while they are read, in constant memory and without a disk.
func Random(seed uint64, size int64) Content { return catalogue.Random(seed, size) }
