package catalog

import (
	"encoding/hex"
	"strconv"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// File is a file of a revision.
type File struct {
	Revision *Revision
	file     *mirror.File // of a served record, or a copy; revisions share it
}

// Reference is the file's reference, as the provider spelled it.
func (f File) Reference() manifest.Reference { return f.file.Reference }

// Size is the size in bytes.
func (f File) Size() int64 { return f.file.Size }

// Object is the SHA-256 of the content.
func (f File) Object() manifest.ObjectID { return f.file.Object }

// Slash is true if the provider's link has a slash before its query.
func (f File) Slash() bool { return f.file.Slash }

// Digest returns a digest of the content; false if the provider never gave it.
func (f File) Digest(algorithm manifest.Algorithm) (manifest.Digest, bool) {
	if algorithm == manifest.SHA256 {
		return f.file.Object.Digest(), true
	}
	for _, digest := range []manifest.Digest{f.file.Expected, f.details().MD5, f.details().SHA1} {
		if digest.Algorithm == algorithm {
			return digest, true
		}
	}
	return manifest.Digest{}, false
}

func (f File) details() manifest.Metadata {
	if f.file.Metadata == nil {
		return manifest.Metadata{}
	}
	return *f.file.Metadata
}

// Metadata returns what Metadata says about the file, in the order of the wire.
func (f File) Metadata() []manifest.Member {
	ref, details := f.Reference().Parts(), f.details()
	members := make([]manifest.Member, 0, 6+max(len(details.Members), 4))
	members = append(members,
		manifest.Member{Name: "FileName", Value: ref.Name},
		manifest.Member{Name: "Release", Value: string(ref.Release)},
		manifest.Member{Name: "FileSize", Value: strconv.FormatInt(f.file.Size, 10)})
	for _, algorithm := range []manifest.Algorithm{manifest.MD5, manifest.SHA1} {
		if digest, known := f.Digest(algorithm); known {
			members = append(members, manifest.Member{Name: algorithm.String(), Value: digest.Hex()})
		}
	}
	members = append(members, manifest.Member{Name: "SHA256", Value: hex.EncodeToString(f.file.Object[:])})
	if f.file.Metadata == nil {
		return append(members, segmentsOf(ref)...)
	}
	return append(members, details.Members...)
}

// segmentsOf are the members that a reference gives.
func segmentsOf(ref manifest.Parts) []manifest.Member {
	switch ref.Class {
	case manifest.Library:
		return []manifest.Member{{Name: "OS", Value: ref.OS}, {Name: "Compiler", Value: ref.Compiler}, {Name: "Architecture", Value: ref.Architecture}}
	case manifest.Interface:
		return []manifest.Member{{Name: "Language", Value: ref.Language}, {Name: "Architecture", Value: ref.Architecture}}
	}
	return nil
}
