package buckettest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"syncd/internal/manifest/destruction"
)

// The only bucket of a Server, and who may use it.
const (
	Bucket    = "refdata"
	Region    = "us-east-1"
	AccessKey = "ACCESSKEYofTESTS"
	SecretKey = "secret-key-of-tests"
)

// patience is how long a server may take to start on a busy machine.
const patience = 2 * time.Minute

// Makers are the programs of servers, each from another maker.
var Makers = []string{versitygw, "gofakes3", "s3rver"}

// versitygw is the server of most tests: it keeps each object as a file.
const versitygw = "versitygw"

// Server is a running S3 server with an empty bucket.
type Server struct {
	Endpoint string // http://ADDRESS; it stays the same after Kill and Start

	AccessKey, SecretKey string

	Destruction map[string]destruction.Order // of the generations that Publish writes

	t       testing.TB
	maker   string
	address string
	folder  string
	process *exec.Cmd
	log     bytes.Buffer
	wire    http.Transport // of Client
}

// New starts versitygw, which ends with the test. Without it the test is skipped, and CI
// fails.
func New(t testing.TB) *Server {
	t.Helper()
	return NewOf(t, versitygw)
}

// NewOf starts the server of a maker.
func NewOf(t testing.TB, maker string) *Server {
	t.Helper()
	s := &Server{t: t, maker: maker, address: FreeAddress(t), folder: t.TempDir(), AccessKey: AccessKey, SecretKey: SecretKey}
	s.Endpoint = "http://" + s.address
	if maker == "s3rver" {
		s.AccessKey, s.SecretKey = "S3RVER", "S3RVER" // it has no others
	}
	if err := os.Mkdir(filepath.Join(s.folder, Bucket), 0o755); err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.wire.CloseIdleConnections()
		s.Kill()
		if t.Failed() {
			t.Logf("%s wrote:\n%s", maker, &s.log)
		}
	})
	return s
}

// Start starts the server again after Kill, with the same address. versitygw and s3rver have
// the same objects then.
func (s *Server) Start() {
	s.t.Helper()
	program, err := exec.LookPath(s.maker)
	if err != nil {
		s.t.Skipf("NOT TESTED: object storage: install %s, see .ci/parts", s.maker)
	}
	s.process = exec.Command(program, s.arguments()...)
	s.process.Env = []string{"ROOT_ACCESS_KEY_ID=" + AccessKey, "ROOT_SECRET_ACCESS_KEY=" + SecretKey, "HOME=" + s.folder, "TMPDIR=" + os.TempDir(), "PATH=" + os.Getenv("PATH")}
	s.process.Stdout, s.process.Stderr = &s.log, &s.log
	s.process.SysProcAttr = endWithTest()
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.wait()
}

func (s *Server) arguments() []string {
	host, port, _ := net.SplitHostPort(s.address) // of FreeAddress
	switch s.maker {
	case versitygw:
		return []string{"--quiet", "--port", s.address, "--health", "/health", "--region", Region, "posix", s.folder}
	case "gofakes3":
		return []string{"-host", s.address, "-quiet", "-backend", "memory", "-initialbucket", Bucket}
	default:
		return []string{"--silent", "--no-vhost-buckets", "--address", host, "--port", port, "--directory", s.folder, "--configure-bucket", Bucket}
	}
}

// wait waits until the server answers.
func (s *Server) wait() {
	s.t.Helper()
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for limit := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		answer, err := client.Get(s.Endpoint + "/health")
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK || s.maker != versitygw {
				return
			}
		}
		if time.Now().After(limit) {
			s.Kill()
			s.t.Fatalf("%s does not answer: %v\n%s", s.maker, err, &s.log)
		}
	}
}

// Kill ends the server as kill -9 does. Its connections break.
func (s *Server) Kill() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Kill() // it may have ended by itself
	_ = s.process.Wait()         // killed
	s.process = nil
}

// Path is the file of an object with a name in the bucket.
func (s *Server) Path(name string) string {
	return filepath.Join(s.folder, Bucket, filepath.FromSlash(name))
}

// FreeAddress is a free address of loopback, for a program that is told its port. The system
// gives no port of this range to a connection or listener that asks for any, so that nobody
// takes the address until the program listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	const first, last = 20_000, 32_000
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(last-first))
		if listener, err := net.Listen("tcp", address); err == nil {
			listener.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}
