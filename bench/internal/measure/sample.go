package measure

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sample is what the operating system measured in one run. CPU includes child
// processes.
type Sample struct {
	Wall, CPU time.Duration
	Peak      int64 // peak memory of the largest process, in bytes
	IO        IOCounts
}

// IOCounts are the I/O counters of the process, without its children.
type IOCounts struct {
	Passed  int64 // bytes passed to write calls, sockets included
	Written int64 // bytes of pages made dirty, which go to disk
}

// CountsOf returns the counters of a running process, zeros for one that is gone.
func CountsOf(pid int) (counts IOCounts) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid)) // a missing file leaves zeros
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "wchar":
			counts.Passed, _ = strconv.ParseInt(value, 10, 64)
		case "write_bytes":
			counts.Written, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	return counts
}

// Medians returns the median of each value by itself.
func Medians(samples []Sample) Sample {
	return Sample{
		Wall: median(samples, func(s Sample) time.Duration { return s.Wall }),
		CPU:  median(samples, func(s Sample) time.Duration { return s.CPU }),
		Peak: median(samples, func(s Sample) int64 { return s.Peak }),
		IO: IOCounts{
			Passed:  median(samples, func(s Sample) int64 { return s.IO.Passed }),
			Written: median(samples, func(s Sample) int64 { return s.IO.Written }),
		},
	}
}

// Ratios returns the medians of the ratios of wall and CPU time, round by round. The runs
// of one round follow each other, so that a machine that slows down affects both sides.
func Ratios(of, against []Sample) (wall, cpu float64) {
	var walls, cpus []float64
	for i := range of {
		walls = append(walls, of[i].Wall.Seconds()/against[i].Wall.Seconds())
		cpus = append(cpus, of[i].CPU.Seconds()/against[i].CPU.Seconds())
	}
	return middle(walls), middle(cpus)
}

func median[T int64 | time.Duration](samples []Sample, of func(Sample) T) T {
	values := make([]T, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return middle(values)
}

func middle[T cmp.Ordered](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}
