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

// SetManifest creates or replaces a release of a manifest. A second call with
// other contents republishes the release. When several releases list the same
// reference with different contents, the last call wins.
func (e *Emulator) SetManifest(manifest, release string, files ...File) {
	e.catalogue.SetManifest(manifest, release, files...)
}

// SetFiles publishes files that no manifest lists, such as products. A second call for a
// release replaces its files.
func (e *Emulator) SetFiles(release string, files ...File) { e.catalogue.SetFiles(release, files...) }

// SetLinks makes links the list of a manifest's release, served as they are. The
// files that SetManifest published there stay.
func (e *Emulator) SetLinks(manifest, release string, links ...string) {
	e.catalogue.SetLinks(manifest, release, links...)
}

// RemoveRelease removes a release of a manifest, and with its last release the
// manifest. A file stays while another release lists it with a content. A release
// that does not exist, or comes from Config.Root, is left alone.
func (e *Emulator) RemoveRelease(manifest, release string) {
	e.catalogue.RemoveRelease(manifest, release)
}

// AddSample publishes the generated sample data: dq_addr_data, dq_addr_bins and
// dq_phone_data in the releases 2026.08 to 2026.10. In the newer ones some links
// name an older release. No manifest lists the product DataQualitySuite and the library
// mdTool.exe, which has a variant with the tag NET7. Calling it again does nothing.
func (e *Emulator) AddSample() { e.catalogue.AddSample() }

// AdvanceSample publishes the next month of the sample data and returns its name.
// One file of dq_addr_data, one of dq_addr_bins and one of the files that no manifest
// lists change, others at the next call. dq_phone_data is a new release of the same
// files. It adds the sample first when that is missing.
func (e *Emulator) AdvanceSample() (release string) { return e.catalogue.AdvanceSample() }
