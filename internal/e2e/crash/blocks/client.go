package blocks

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Server is a process that serves disks.
type Server struct {
	folder string
	input  io.WriteCloser
	cmd    *exec.Cmd

	mu  sync.Mutex // one order at a time
	out *json.Encoder
	in  *json.Decoder
}

// Start starts this program again as a server of disks below a folder.
func Start(folder string) (*Server, error) {
	if err := os.Mkdir(filepath.Join(folder, "fuse"), 0o700); err != nil {
		return nil, err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverVariable+"="+folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // keeps Ctrl-C away from it
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Server{folder: folder, input: input, cmd: cmd, out: json.NewEncoder(input), in: json.NewDecoder(bufio.NewReader(output))}
	if _, err := s.hear(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close ends the server. Nothing stays mounted below its folder.
func (s *Server) Close() error { return errors.Join(s.input.Close(), s.cmd.Wait()) }

func (s *Server) hear() (answer, error) {
	var a answer
	if err := s.in.Decode(&a); err != nil {
		return a, fmt.Errorf("the server of disks: %w", err)
	}
	if a.Error != "" {
		return a, errors.New("the server of disks: " + a.Error)
	}
	return a, nil
}

func (s *Server) tell(o order) (answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.out.Encode(o); err != nil {
		return answer{}, err
	}
	return s.hear()
}

// Disk is a disk of a server.
type Disk struct {
	*Server
	name string
}

// Create makes a new disk.
func (s *Server) Create(name string, size int64) (*Disk, error) {
	_, err := s.tell(order{Do: "create", Disk: name, Size: size})
	return &Disk{s, name}, err
}

// Record begins to note writes and flushes.
func (d *Disk) Record() error {
	_, err := d.tell(order{Do: "record", Disk: d.name})
	return err
}

// Recorded returns the writes and flushes since Record.
func (d *Disk) Recorded() ([]Entry, error) {
	a, err := d.tell(order{Do: "recorded", Disk: d.name})
	return a.Entries, err
}

// Cut makes a new disk: what was there before Record, the first entries, and then some others.
func (d *Disk) Cut(image string, first int, others []int) (*Disk, error) {
	_, err := d.tell(order{Do: "cut", Disk: d.name, Image: image, First: first, Other: others})
	return &Disk{d.Server, image}, err
}

// Remove forgets a disk that is not mounted.
func (d *Disk) Remove() error {
	_, err := d.tell(order{Do: "remove", Disk: d.name})
	return err
}

// Format makes a file system.
func (d *Disk) Format(kind string, args ...string) error {
	return d.attached(func(device string) error { return run("mkfs."+kind, append(args, "-q", device)...) })
}

// Mount mounts the disk.
func (d *Disk) Mount(kind, options, point string) error {
	return d.attached(func(device string) error { return run("mount", "-t", kind, "-o", options, device, point) })
}

func run(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %q: %w: %s", name, args, err, out)
	}
	return nil
}

// attached calls use with a loop device above the disk. The device ends with its last user.
func (d *Disk) attached(use func(device string) error) error {
	file, err := os.OpenFile(filepath.Join(d.folder, "fuse", d.name), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer control.Close()
	for {
		number, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return err
		}
		name := "/dev/loop" + strconv.Itoa(number)
		device, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer device.Close()
		err = unix.IoctlLoopConfigure(int(device.Fd()), &unix.LoopConfig{
			Fd: uint32(file.Fd()), Size: pageSize, //nolint:gosec // a descriptor
			Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR | unix.LO_FLAGS_DIRECT_IO},
		})
		if errors.Is(err, unix.EBUSY) { // another process was faster
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return use(name)
	}
}
