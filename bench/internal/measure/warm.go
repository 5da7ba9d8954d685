package measure

import "golang.org/x/sys/unix"

// WarmBytes is the memory touched before each run, more than a run caches.
const WarmBytes = int64(3) << 30

// WarmMemory touches memory and frees it at once. A hypervisor may take unused pages
// away from a guest. Then the first run that fills the page cache would pay for getting
// them back, several times the cost of its writes, and the next run would not.
func WarmMemory(bytes int64) {
	ballast, err := unix.Mmap(-1, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return // too little memory: run without warming
	}
	for i := 0; i < len(ballast); i += 4 << 10 {
		ballast[i] = 1
	}
	_ = unix.Munmap(ballast)
}
