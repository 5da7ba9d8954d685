package fsops

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// Outside is the id that the kernel shows for all users outside of the user namespace of this
// process; -1 if there are none, or if a user in the namespace has the same id.
var Outside = sync.OnceValue(func() int {
	mapped, err := os.ReadFile("/proc/self/uid_map")
	shown, shownErr := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil || shownErr != nil {
		return -1
	}
	return outsideOf(string(mapped), string(shown))
})

// outsideOf reads the ranges of a user namespace, and the id that stands for all others.
func outsideOf(mapped, shown string) int {
	var id int
	if _, err := fmt.Sscan(shown, &id); err != nil {
		return -1
	}
	for line := range strings.Lines(mapped) {
		var first, parent, count int
		if _, err := fmt.Sscan(line, &first, &parent, &count); err != nil || id >= first && id-first < count {
			return -1
		}
	}
	return id
}
