package main

import "golang.org/x/sys/unix"

// warm is how much memory is touched before each run: more than a run caches.
const warm = 3 * gib

// warmMemory takes memory and gives it back at once. Where a hypervisor takes back
// what a guest does not use, the next process to write a file would pay for every
// page of its cache, several times the cost of the write, and the one after it for
// none.
func warmMemory(bytes int64) {
	ballast, err := unix.Mmap(-1, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return // the machine is smaller: it goes without
	}
	for i := 0; i < len(ballast); i += 4 * int(kib) {
		ballast[i] = 1
	}
	_ = unix.Munmap(ballast)
}
