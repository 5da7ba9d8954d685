package provider

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// Folder is nginx as a plain server of a folder's files.
type Folder struct{ *nginx }

// ServeFolder starts nginx, with its own files in dir, over plain HTTP or over https with the
// certificate that WriteCertificates writes there.
func ServeFolder(ctx context.Context, dir, folder string, https bool) (*Folder, error) {
	n := &nginx{dir: dir}
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.Symlink(folder, filepath.Join(dir, "root"))); err != nil {
		return nil, err
	}
	err := n.start(https)
	if err == nil {
		n.url = "http://" + n.address
		if https {
			n.url, n.caFile = "https://"+n.address, filepath.Join(dir, "ca.pem")
		}
		err = n.wait(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return &Folder{n}, nil
}

// PID is the process of nginx's master.
func (f *Folder) PID() int { return f.cmd.Process.Pid }
