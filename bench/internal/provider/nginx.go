package provider

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"syncd/bench/internal/link"
)

// ErrNoNginx means that a case over https cannot run.
var ErrNoNginx = errors.New("nginx is not installed: run `apt-get install nginx-light`")

// nginxPath also finds nginx where the path of a plain user does not.
func nginxPath() (string, error) {
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoNginx
}

// nginx serves the release as static files, with one worker. Both processes are a group
// that ends as one: a worker could keep the port after the end of its master.
type nginx struct {
	dir     string
	cmd     *exec.Cmd
	address string // of nginx itself
	url     string // for clients, possibly of the proxy
	caFile  string
	proxy   *link.Proxy
	files   []File
}

func startNginx(ctx context.Context, dir string, sizes []int64, over link.Link) (_ *nginx, err error) {
	if err := os.MkdirAll(filepath.Join(dir, "root"), 0o755); err != nil {
		return nil, err
	}
	n := &nginx{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	if err := n.start(over.HTTPS); err != nil {
		return nil, err
	}
	reached := n.address
	if over.Slow() {
		if n.proxy, err = over.Proxy(n.address); err != nil {
			return nil, err
		}
		reached = n.proxy.Addr()
	}
	n.url = "http://" + reached
	if over.HTTPS {
		n.url, n.caFile = "https://"+reached, filepath.Join(dir, "ca.pem")
	}
	if n.files, err = writeRelease(filepath.Join(dir, "root"), n.url, sizes); err != nil {
		return nil, err
	}
	return n, n.wait(ctx)
}

// start passes nginx an open listener, as an upgrade of nginx does. So no other program
// can take the port in between.
func (n *nginx) start(https bool) error {
	program, err := nginxPath()
	if err != nil {
		return err
	}
	if err := WriteCertificates(n.dir); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	n.address = listener.Addr().String()
	inherited, err := listener.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	defer inherited.Close()
	conf := filepath.Join(n.dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte(n.config(https)), 0o600); err != nil {
		return err
	}
	cmd := exec.Command(program, "-p", n.dir, "-c", conf, "-e", filepath.Join(n.dir, "error.log"))
	cmd.ExtraFiles, cmd.Env = []*os.File{inherited}, append(os.Environ(), "NGINX=3;")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return err
	}
	n.cmd = cmd
	return nil
}

// config returns the configuration. It keeps nginx's defaults, except for what would
// end or slow a connection with thousands of requests.
func (n *nginx) config(https bool) string {
	options := ""
	if https {
		options = " ssl http2"
	}
	return strings.NewReplacer("DIR", n.dir, "ADDRESS", n.address, "OPTIONS", options).Replace(`
daemon off;
worker_processes 1;
user root;
pid DIR/pid;
events { worker_connections 4096; }
http {
	log_format sent '$body_bytes_sent $uri';
	access_log DIR/requests sent;
	client_body_temp_path DIR/tmp; proxy_temp_path DIR/tmp; fastcgi_temp_path DIR/tmp;
	scgi_temp_path DIR/tmp; uwsgi_temp_path DIR/tmp;
	default_type application/octet-stream;
	sendfile on;
	tcp_nopush on;
	keepalive_requests 10000000;
	open_file_cache max=20000;
	absolute_redirect off;
	server {
		listen ADDRESSOPTIONS;
		ssl_protocols TLSv1.2 TLSv1.3;
		ssl_certificate DIR/cert.pem;
		ssl_certificate_key DIR/key.pem;
		root DIR/root;
		location /Download/ { rewrite ^/Download/(.*)$ /files/$1? redirect; }
		location = /connections { stub_status; access_log off; }
	}
}
`)
}
