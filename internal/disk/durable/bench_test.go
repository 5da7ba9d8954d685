package durable

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// waysToSync make written files durable. They call the kernel directly: the
// benchmark also compares ways that the product does not use.
var waysToSync = []struct {
	name string
	sync func(files []*os.File) error
}{
	{"fsync one by one", func(files []*os.File) error { return eachOf(files, 1, unix.Fsync) }},
	{"fdatasync one by one", func(files []*os.File) error { return eachOf(files, 1, unix.Fdatasync) }},
	{"fdatasync, 4 at a time", func(files []*os.File) error { return eachOf(files, 4, unix.Fdatasync) }},
	{"fdatasync, 16 at a time", func(files []*os.File) error { return eachOf(files, 16, unix.Fdatasync) }},
	{"fdatasync, 64 at a time", func(files []*os.File) error { return eachOf(files, 64, unix.Fdatasync) }},
	{"write-back of all, then fdatasync one by one", func(files []*os.File) error {
		if err := eachOf(files, 1, startWriteBack); err != nil {
			return err
		}
		return eachOf(files, 1, unix.Fdatasync)
	}},
	{"write-back of all, then fdatasync, 16 at a time", func(files []*os.File) error {
		if err := eachOf(files, 1, startWriteBack); err != nil {
			return err
		}
		return eachOf(files, 16, unix.Fdatasync)
	}},
	{"one syncfs", func(files []*os.File) error { return unix.Syncfs(int(files[0].Fd())) }},
}

// startWriteBack asks the disk to begin writing a file and does not wait.
func startWriteBack(fd int) error {
	return unix.SyncFileRange(fd, 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}

// eachOf makes a call for each file, several at a time.
func eachOf(files []*os.File, atATime int, call func(fd int) error) error {
	var next atomic.Int64
	var workers sync.WaitGroup
	errs := make([]error, atATime)
	for i := range errs {
		workers.Go(func() {
			for n := next.Add(1) - 1; n < int64(len(files)) && errs[i] == nil; n = next.Add(1) - 1 {
				errs[i] = call(int(files[n].Fd()))
			}
		})
	}
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkSmallFilesMadeDurable compares the ways to make many small files durable:
// alone, and beside a program that writes all the time. It also reports how long that
// neighbour's fdatasyncs took, because syncfs writes the neighbour's dirty bytes too.
// TMPDIR chooses the file system, and -benchtime=5x bounds the time.
func BenchmarkSmallFilesMadeDurable(b *testing.B) {
	dir := b.TempDir() // of all: files are slow to create just after others were removed
	for _, host := range []string{"alone", "beside a writer"} {
		for _, count := range []int{20, 200, 2000} {
			for _, way := range waysToSync {
				b.Run(fmt.Sprintf("%s/%d files/%s", host, count, way.name), func(b *testing.B) {
					if host != "alone" {
						defer startNeighbour(b, filepath.Join(dir, "neighbour")).end(b)
						b.ResetTimer()
					}
					makeDurable(b, dir, count, way.sync)
				})
			}
		}
	}
}

// makeDurable measures the syncs without the writes before them. The files lie in 256
// directories, as objects do.
func makeDurable(b *testing.B, dir string, count int, sync func([]*os.File) error) {
	var cpu time.Duration
	for range b.N {
		b.StopTimer()
		files := smallFiles(b, dir, count)
		before := cpuTime(b)
		b.StartTimer()
		err := sync(files)
		b.StopTimer()
		cpu += cpuTime(b) - before
		for _, f := range files {
			f.Close()
		}
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*count), "µs/file")
	b.ReportMetric(float64(cpu.Microseconds())/float64(b.N*count), "CPU-µs/file")
}

// BenchmarkFoldersMadeDurable measures the fsyncs of the directories into which many
// objects were renamed.
func BenchmarkFoldersMadeDurable(b *testing.B) {
	dir := b.TempDir()
	for _, way := range []struct {
		name string
		sync func(folders []*os.File) error
	}{
		{"fsync one by one", func(folders []*os.File) error { return eachOf(folders, 1, unix.Fsync) }},
		{"fsync, 16 at a time", func(folders []*os.File) error { return eachOf(folders, 16, unix.Fsync) }},
		{"one syncfs", func(folders []*os.File) error { return unix.Syncfs(int(folders[0].Fd())) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				files := smallFiles(b, dir, 2000)
				if err := eachOf(files, 16, unix.Fdatasync); err != nil {
					b.Fatal(err)
				}
				folders := foldersOf(b, files)
				b.StartTimer()
				if err := way.sync(folders); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				for _, f := range append(files, folders...) {
					f.Close()
				}
				b.StartTimer()
			}
		})
	}
}

// smallFiles writes new files of 4 KiB and leaves them open.
func smallFiles(b *testing.B, dir string, count int) []*os.File {
	b.Helper()
	root, err := os.MkdirTemp(dir, "files-")
	if err != nil {
		b.Fatal(err)
	}
	files, data := make([]*os.File, count), make([]byte, 4<<10)
	for i := range files {
		folder := filepath.Join(root, fmt.Sprintf("%02x", i%256))
		if i < 256 {
			if err := os.Mkdir(folder, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if files[i], err = os.Create(filepath.Join(folder, fmt.Sprint(i))); err != nil {
			b.Fatal(err)
		}
		if _, err := files[i].Write(data); err != nil {
			b.Fatal(err)
		}
	}
	return files
}

func foldersOf(b *testing.B, files []*os.File) []*os.File {
	b.Helper()
	var folders []*os.File
	for _, file := range files[:256] {
		folder, err := os.Open(filepath.Dir(file.Name()))
		if err != nil {
			b.Fatal(err)
		}
		folders = append(folders, folder)
	}
	return folders
}

// neighbour plays a program on the same file system. It dirties 200 MB a second of a
// file of 512 MiB, and keeps making a small file durable.
type neighbour struct {
	stop    chan struct{}
	workers sync.WaitGroup
	errs    [2]error
	waits   []time.Duration
}

func startNeighbour(b *testing.B, path string) *neighbour {
	b.Helper()
	n := &neighbour{stop: make(chan struct{})}
	large, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	chunk := make([]byte, 2<<20)
	for at := int64(0); at < 512<<20; at += int64(len(chunk)) {
		if _, err := large.WriteAt(chunk, at); err != nil {
			b.Fatal(err)
		}
	}
	n.workers.Go(func() { n.errs[0] = n.dirty(large, chunk) })
	n.workers.Go(func() { n.errs[1] = n.commit(path + "-small") })
	return n
}

func (n *neighbour) dirty(f *os.File, chunk []byte) error {
	defer f.Close()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for at := int64(0); ; at = (at + int64(len(chunk))) % (512 << 20) {
		select {
		case <-n.stop:
			return nil
		case <-tick.C:
		}
		if _, err := f.WriteAt(chunk, at); err != nil {
			return err
		}
	}
}

func (n *neighbour) commit(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-n.stop:
			return nil
		case <-tick.C:
		}
		started := time.Now()
		if _, err := f.WriteAt([]byte("a line of the neighbour's own\n"), 0); err != nil {
			return err
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return err
		}
		n.waits = append(n.waits, time.Since(started))
	}
}

func (n *neighbour) end(b *testing.B) {
	b.Helper()
	close(n.stop)
	n.workers.Wait()
	for _, err := range n.errs {
		if err != nil {
			b.Error(err)
		}
	}
	if len(n.waits) == 0 {
		return
	}
	slices.Sort(n.waits)
	b.ReportMetric(float64(n.waits[len(n.waits)/2].Microseconds()), "neighbour's-median-µs")
	b.ReportMetric(float64(n.waits[len(n.waits)-1].Microseconds()), "neighbour's-longest-µs")
}

// cpuTime returns the CPU time that this process has used so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
