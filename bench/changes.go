package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"syncd/bench/internal/provider"
	"syncd/bench/internal/table"
	"syncd/internal/changes"
)

// measureChanges compares two files of 5 GiB, whose rows are in the same order and
// shuffled, and a smaller pair with `sort` and `comm`, which need no less for their answer.
func measureChanges(ctx context.Context, b bench) (string, error) {
	size := b.smaller(5 * provider.GiB)
	var figures []table.Figure
	for _, c := range []struct {
		what     string
		shuffled bool
		key      string
	}{{"in the same order", false, ""}, {"in the same order, with a key", false, "1"}, {"shuffled", true, ""}, {"shuffled, with a key", true, "1"}} {
		pair, err := writePair(b.work, size, c.shuffled)
		if err != nil {
			return "", err
		}
		used, err := b.compareRows(ctx, pair, c.key)
		if err != nil {
			return "", err
		}
		figures = append(figures,
			table.Row("CPU time, seconds a GB, "+c.what, used.cpu.Seconds()*1e9/float64(pair.bytes), "%.1f", 6.7),
			table.Row("memory, MiB, "+c.what, used.memory, "%.0f", 256))
		if err := pair.remove(); err != nil {
			return "", err
		}
	}
	pair, err := writePair(b.work, size/10, true)
	if err != nil {
		return "", err
	}
	ours, err := b.compareRows(ctx, pair, "")
	if err != nil {
		return "", err
	}
	// As much memory as syncd takes, and one core.
	script := fmt.Sprintf(`export LC_ALL=C; for f in before after; do sort --parallel=1 -S 64M -T %[1]q -o %[1]q/$f.sorted %[1]q/$f/rows.csv; done
comm -3 %[1]q/before.sorted %[1]q/after.sorted | wc -l`, b.work)
	theirs, err := usageOf(exec.CommandContext(ctx, "sh", "-c", script))
	if err != nil {
		return "", err
	}
	figures = append(figures, table.Row("CPU time against sort and comm, shuffled, a tenth of the size", ours.cpu.Seconds()/theirs.cpu.Seconds(), "%.2f", 1))
	about := fmt.Sprintf("`syncd changes --rows` of a pair of %.1f GiB, about 100 bytes a row, of which one in 1,000 went, came or changed. 6.7 s a GB are 150 MB/s on one core. Both files are also read for their digests.", float64(2*size)/float64(provider.GiB))
	return table.Figures(about, figures), pair.remove()
}

// filePair is two folders with a file each.
type filePair struct {
	dir   string
	bytes int64

	added, gone, changed int64 // with a key
}

func (p filePair) remove() error {
	for _, name := range []string{"before", "after", "before.sorted", "after.sorted"} {
		if err := os.RemoveAll(filepath.Join(p.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// writePair writes rows that depend on their numbers only.
func writePair(dir string, size int64, shuffled bool) (filePair, error) {
	pair := filePair{dir: dir}
	rows := size / 96
	mixed := func(i int64) uint64 {
		x := uint64(i) * 0x9E3779B97F4A7C15
		x = (x ^ x>>29) * 0xBF58476D1CE4E5B9
		return x ^ x>>32
	}
	line := func(b []byte, i int64, x uint64) []byte {
		return fmt.Appendf(b, "%011d,%05d Main Street,Springfield,%05d,IL,%016x,a row of usual length like most\n", i, x%99999, x/7%100000, x)
	}
	err := writeRows(filepath.Join(dir, "before"), func(w *bufio.Writer) {
		var b []byte
		for i := range rows {
			b = line(b[:0], i, mixed(i))
			_, _ = w.Write(b) // Flush returns the error
			pair.bytes += int64(len(b))
		}
	})
	if err != nil {
		return pair, err
	}
	return pair, writeRows(filepath.Join(dir, "after"), func(w *bufio.Writer) {
		var b []byte
		for n := range rows {
			i := n
			if shuffled {
				i = n * 7_368_787 % rows // a prime: every row once
			}
			x := mixed(i)
			switch b = b[:0]; x % 1000 {
			case 0:
				pair.gone++
				continue
			case 1:
				pair.changed++
				b = line(b, i, x+1)
			case 2:
				pair.added++
				b = line(line(b, i, x), i+rows, x)
			default:
				b = line(b, i, x)
			}
			_, _ = w.Write(b)
			pair.bytes += int64(len(b))
		}
	})
}

func writeRows(dir string, write func(*bufio.Writer)) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, "rows.csv"))
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	write(w)
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Close()
}

// usage is what a process took.
type usage struct {
	cpu    time.Duration
	memory float64 // MiB
	output []byte
}

func usageOf(cmd *exec.Cmd) (usage, error) {
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return usage{}, fmt.Errorf("%s: %w", cmd.Path, err)
	}
	state := cmd.ProcessState
	u := usage{cpu: state.UserTime() + state.SystemTime(), output: out}
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.memory = float64(r.Maxrss) / 1024
	}
	return u, nil
}

// compareRows measures syncd, and requires the right answer of it.
func (b bench) compareRows(ctx context.Context, pair filePair, key string) (usage, error) {
	config := filepath.Join(b.work, "changes.yaml")
	text := "source: {url: \"https://releases.example.net\"}\ndata_dir: data\nmanifests:\n  - name: m\n"
	added, gone, changed := pair.added+pair.changed, pair.gone+pair.changed, int64(0)
	if key != "" {
		text += "    rows: [{glob: \"*\", key: [" + key + "]}]\n"
		added, gone, changed = pair.added, pair.gone, pair.changed
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return usage{}, err
	}
	cmd := exec.CommandContext(ctx, b.binary, "--config", config, "changes", "m", filepath.Join(pair.dir, "before"), filepath.Join(pair.dir, "after"), "--rows", "--json")
	cmd.Env = append(os.Environ(), "TMPDIR="+b.work)
	used, err := usageOf(cmd)
	if err != nil {
		return used, err
	}
	var report changes.Report
	if err := json.Unmarshal(used.output, &report); err != nil {
		return used, err
	}
	if got, want := *report.Summary.Rows, (changes.RowCounts{Added: added, Gone: gone, Changed: changed}); got != want {
		return used, fmt.Errorf("syncd counts %+v, want %+v", got, want)
	}
	return used, nil
}
