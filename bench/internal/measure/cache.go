package measure

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Cached returns how many bytes of a file are in the page cache. It needs Linux 6.5.
func Cached(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var counts unix.Cachestat_t
	if err := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{}, &counts, 0); err != nil {
		return 0, fmt.Errorf("cachestat %s: %w", path, err)
	}
	return int64(counts.Cache) * int64(os.Getpagesize()), nil
}

// DropCache removes a file's clean pages from the page cache.
func DropCache(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}
