// Package catalogue holds what the release service publishes: manifests with
// their releases and files, the contents of files, and their digests. Manifests
// come from calls (SetManifest), from a directory, and from generated sample data.
//
// Names are matched without case and returned as they were published. A change
// takes effect for the next look-up. All of it is safe for concurrent use.
package catalogue
