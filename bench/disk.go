package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"syncd/bench/internal/provider"
)

// diskSize and diskInodes suffice for the case with the most files. The image is sparse.
const (
	diskSize   = 12 * provider.GiB
	diskInodes = 2_000_000
)

// mountDisk mounts a new ext4 from an image below dir, for a case with many files. On a
// used file system, earlier deletions can make creating files many times slower. Without
// root the case runs in dir.
func mountDisk(dir string) (work string, unmount func(), err error) {
	image, work := filepath.Join(dir, "disk"), filepath.Join(dir, "work")
	if os.Geteuid() != 0 {
		log.Print("not root, so no new file system: earlier deletions may slow the runs")
		return dir, func() {}, nil
	}
	for _, command := range [][]string{
		{"mkdir", work},
		{"truncate", "-s", fmt.Sprint(diskSize), image},
		{"mkfs.ext4", "-q", "-F", "-N", fmt.Sprint(diskInodes), "-E", "lazy_itable_init=0,lazy_journal_init=0", image},
		{"mount", "-o", "loop", image, work},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return "", nil, fmt.Errorf("%s: %w: %s", command[0], err, out)
		}
	}
	return work, func() {
		if out, err := exec.Command("umount", work).CombinedOutput(); err != nil {
			log.Printf("umount: %v: %s", err, out)
		}
	}, nil
}
