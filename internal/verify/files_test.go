package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"syncd/internal/manifest"
)

func TestFilesReadAtTheirRateAllTogether(t *testing.T) {
	const size, readers, bytesPerSecond = 4 << 20, 4, 1 << 20
	synctest.Test(t, func(t *testing.T) {
		files := NewFiles(bytesPerSecond)
		began := time.Now()
		var group sync.WaitGroup
		for range readers {
			group.Go(func() {
				if h, err := files.read(t.Context(), bytes.NewReader(make([]byte, size)), manifest.SHA256); err != nil || h.Size() != size {
					t.Errorf("%v", err)
				}
			})
		}
		group.Wait()
		if took := time.Since(began).Seconds(); took < 15 || took > 17 {
			t.Errorf("%d bytes took %v s", readers*size, took)
		}
	})
}

func TestAReadAtARateEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stop) })
		if _, err := NewFiles(1).read(ctx, bytes.NewReader(make([]byte, 2*bufferSize)), manifest.SHA256); !errors.Is(err, stop) {
			t.Errorf("error %v", err)
		}
	})
}

func TestTheRateDoesNotChangeTheDigest(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcdef"), 100_000)
	sum := sha256.Sum256(data)
	dir := folderWith(t, string(data))
	for _, rate := range []int64{0, 1 << 30, 1 << 62} {
		object, err := NewFiles(rate).Check(t.Context(), dir, "file", manifest.ObjectID(sum).Digest())
		if err != nil || object.Size != int64(len(data)) {
			t.Errorf("at %d: %+v, %v", rate, object, err)
		}
	}
}
