package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
)

// diskSize is enough for the case with the most files; little of it is written.
const diskSize = 12 * gib

// mountDisk gives a case of thousands of files a new ext4 of its own, an image
// below dir: what others deleted on an old one can make each new file many times
// slower for whoever comes first. Without root the case stays in dir.
func mountDisk(dir string) (work string, unmount func(), err error) {
	image, work := filepath.Join(dir, "disk"), filepath.Join(dir, "work")
	if os.Geteuid() != 0 {
		log.Print("no file system of its own without root: the times also tell what was deleted before")
		return dir, func() {}, nil
	}
	for _, command := range [][]string{
		{"mkdir", work},
		{"truncate", "-s", fmt.Sprint(diskSize), image},
		{"mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", image},
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
