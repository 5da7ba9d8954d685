package releases

import (
	"context"
	"fmt"

	"golang.org/x/sync/semaphore"

	"syncd/internal/manifest"
)

// maxListSize is the size of the largest list that is accepted.
const maxListSize = maxFiles*manifest.SizePerFile + 2*manifest.MaxText

// step is how much of a list needs no room, so that small lists never wait.
const step = 256 << 10

// Room bounds the memory that the lists of files of all manifests take together. The
// largest list fits in. Safe for concurrent use.
type Room struct{ free *semaphore.Weighted }

// NewRoom returns a Room that is free.
func NewRoom() *Room { return &Room{semaphore.NewWeighted(maxListSize)} }

// Share is the part of a Room that one list holds. A nil Share has no bound. Not safe
// for concurrent use.
type Share struct {
	room *Room
	held int
}

// NewShare returns a Share that holds nothing.
func (r *Room) NewShare() *Share { return &Share{room: r} }

// fits takes what a list of a size needs, if that is free. It never waits, because its
// caller reads from the network: a slow list would hold up the others.
func (s *Share) fits(size int) bool {
	if s == nil || size <= s.held+step {
		return true
	}
	if !s.room.free.TryAcquire(int64(size - s.held)) {
		return false
	}
	s.held = size
	return true
}

// Wait waits in order until a list of a size fits, and takes what it needs. Nothing is
// held meanwhile.
func (s *Share) Wait(ctx context.Context, size int) error {
	s.Release()
	size = min(size, maxListSize)
	if err := s.room.free.Acquire(ctx, int64(size)); err != nil {
		return context.Cause(ctx)
	}
	s.held = size
	return nil
}

// Release gives everything back. It may be called twice.
func (s *Share) Release() { s.shrink(0) }

// shrink gives back what a list of a size does not need.
func (s *Share) shrink(size int) {
	if s != nil && s.held > size {
		s.room.free.Release(int64(s.held - size))
		s.held = size
	}
}

// NoRoomError means that a list does not fit beside the lists of other manifests. After
// Share.Wait with its Size the list can be requested again.
type NoRoomError struct{ Size int }

func (e *NoRoomError) Error() string {
	return fmt.Sprintf("no room for a list of about %d bytes beside those of other manifests", e.Size)
}
