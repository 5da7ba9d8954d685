// Package patch makes patches: a content told by its difference from an older content.
//
// The new content is cut into segments of 2 MiB. Each segment is a zstd frame whose raw
// dictionary is a region of the old content, at most 4 MiB, so that both sides hold a few
// MiB whatever the sizes are. Anchors find the region: places that the 64 bytes before them
// choose, so that they move along when something is inserted before them.
//
// # The form
//
// All numbers of fixed size are little-endian.
//
//	"syncd-patch/v1\n"
//	uint32    size of a segment
//	uint64    size of the old content
//	uint64    size of the new content
//	[32]byte  SHA-256 of the old content
//	[32]byte  SHA-256 of the new content
//	uint32    size of the body of each segment
//	          the bodies, in the order of the segments
//
// A body is the number of extents, an offset and a length in the old content for each of
// them, all as uvarints, and then the frame. The extents, one after the other, are the
// region. A body without a frame says that the segment is its region.
//
// The table of sizes stands before the bodies, so that a patch is applied while it arrives,
// and goes on at any segment after an interruption.
//
// # Trust
//
// The maker believes the digests that it is given. The receiver believes nothing: it knows
// both contents' sizes and digests before it opens a patch, and hashes the result as it
// hashes any download. A hostile patch makes wrong bytes, never more than the announced
// ones, and takes no more memory and time than an honest one.
package patch
