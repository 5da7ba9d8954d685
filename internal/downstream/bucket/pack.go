package bucket

import (
	"crypto/sha256"
	"encoding/binary"
	"path"

	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
)

const (
	// PackedBelow is the size in bytes below which a content comes in a pack.
	PackedBelow = 64 << 10
	// MaxPack is the most that the contents of a pack have together, in bytes.
	MaxPack = 8 << 20
	// meanPack is how many bytes of contents lie between two digests that end a pack. Such an
	// end moves only with its content, so a changed file changes few packs.
	meanPack = 6 << 20
)

// Pack is several small contents in one text: a zstd stream of them, one after the other.
type Pack struct {
	ID       manifest.ObjectID // SHA-256 of the contents' digests, one after the other
	Contents []Content         // at least two
}

// Content is a content of a pack.
type Content struct {
	ID   manifest.ObjectID
	Size int64 // bytes
}

// Name is its name.
func (p Pack) Name() string { return PackName(p.ID) }

// Size is what the contents have together, in bytes.
func (p Pack) Size() (size int64) {
	for _, c := range p.Contents {
		size += c.Size
	}
	return size
}

// PackName is the name of a pack.
func PackName(id manifest.ObjectID) string {
	text := id.String()
	return Packs + text[:2] + "/" + text
}

// ParsePackName reads what PackName writes.
func ParsePackName(name string) (manifest.ObjectID, bool) {
	id, err := manifest.ParseObjectID(path.Base(name))
	return id, err == nil && PackName(id) == name
}

// PacksOf are the packs of a record with these files. They depend on nothing else, so that
// publishers and followers find the same ones.
func PacksOf(files []record.File) (packs []Pack) {
	var p Pack
	size, seen := int64(0), map[manifest.ObjectID]bool{}
	end := func() {
		if len(p.Contents) > 1 {
			p.ID = packID(p.Contents)
			packs = append(packs, p)
		}
		p, size = Pack{}, 0
	}
	for _, f := range files {
		if f.Size >= PackedBelow || f.Size == 0 || seen[f.Object] {
			continue
		}
		seen[f.Object] = true
		if size+f.Size > MaxPack {
			end()
		}
		p.Contents, size = append(p.Contents, Content{f.Object, f.Size}), size+f.Size
		if endsPack(f) {
			end()
		}
	}
	end()
	return packs
}

// endsPack chooses contents by their digests, one in meanPack bytes of them.
func endsPack(f record.File) bool {
	return uint64(binary.BigEndian.Uint32(f.Object[:]))*meanPack < uint64(f.Size)<<32
}

func packID(contents []Content) (id manifest.ObjectID) {
	sum := sha256.New()
	for _, c := range contents {
		sum.Write(c.ID[:])
	}
	return manifest.ObjectID(sum.Sum(nil))
}
