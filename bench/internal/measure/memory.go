package measure

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"
)

// memory watches the peak memory of the largest process of a tree. ru_maxrss cannot be
// used: it includes the memory that this process, the server, had when it forked.
type memory struct {
	stop chan struct{}
	peak chan int64
}

func watchMemory(pid int) memory {
	m := memory{stop: make(chan struct{}), peak: make(chan int64)}
	go func() {
		var peak int64
		for {
			peak = max(peak, largest(pid))
			select {
			case <-m.stop:
				m.peak <- peak
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return m
}

// end returns the peak in bytes.
func (m memory) end() int64 {
	close(m.stop)
	return <-m.peak
}

// largest returns the highest peak so far among a process and its descendants, in bytes.
func largest(pid int) int64 {
	peak := HighWater(pid)
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)) // an ended process has none
	for field := range strings.FieldsSeq(string(children)) {
		var child int
		if _, err := fmt.Sscan(field, &child); err == nil {
			peak = max(peak, largest(child))
		}
	}
	return peak
}

// HighWater returns the peak memory of a process so far, in bytes; 0 for one that has ended.
func HighWater(pid int) int64 {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kilobytes int64
		if _, err := fmt.Sscanf(lines.Text(), "VmHWM: %d kB", &kilobytes); err == nil {
			return kilobytes << 10
		}
	}
	return 0
}
