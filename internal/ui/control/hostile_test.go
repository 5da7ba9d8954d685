package control

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"syncd/internal/engine/operation"
	"syncd/internal/report/request"
)

// impostor answers every request on the socket in dir with a handler.
func impostor(t *testing.T, dir string, answer http.HandlerFunc) *Client {
	t.Helper()
	listener, err := listen(dir)
	must(t, err)
	server := &http.Server{Handler: answer}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	client, err := Dial(t.Context(), dir)
	must(t, err)
	t.Cleanup(func() {
		client.Close()
		server.Close()
		<-done
	})
	return client
}

func TestControlCharactersOfAnAnswerAreMadeVisible(t *testing.T) {
	for sent, want := range map[string]string{
		`plain text ü 世界 \"quoted\" back\\slash \u003cb\u003e \ud83d\ude00`: `plain text ü 世界 "quoted" back\slash <b> 😀`,
		`\u001b[31mred\u001B]0;title\u0007`:                                 `\u001b[31mred\u001B]0;title\u0007`,
		"c1 \u009b31m, del \u007f":                                          `c1 \u009b31m, del \u007f`,
		`lines\r\n\tforged\b\f`:                                             `lines\r\n\tforged\b\f`,
		"right to left \u202e, \u2028 line":                                 `right to left \u202e, \u2028 line`,
		`\\u001b is text, \\\u001b is not`:                                  `\u001b is text, \\u001b is not`,
	} {
		c := impostor(t, t.TempDir(), func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"error":{"text":"`+sent+`"}}`+"\n")
		})
		if _, err := operation.Status.Ask(t.Context(), c); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestEndlessAnswerIsRefused(t *testing.T) {
	c := impostor(t, t.TempDir(), func(w http.ResponseWriter, r *http.Request) {
		for line := []byte(strings.Repeat(" ", 1<<20)); r.Context().Err() == nil; {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	})
	if _, err := operation.Status.Ask(t.Context(), c); !errors.Is(err, bufio.ErrTooLong) && (err == nil || !strings.Contains(err.Error(), "too long")) {
		t.Errorf("error %v", err)
	}
}

// An empty object takes two bytes of an answer, and hundreds of memory.
func TestAnswerThatFillsTheMemoryIsRefused(t *testing.T) {
	many := strings.Repeat("{},", maxEntries)
	for name, row := range map[string]struct {
		line string
		want error
	}{
		"manifests":           {`{"result":{"manifests":[` + many + `{}]}}`, errEntries},
		"the same list twice": {`{"result":{"manifests":[` + many[:len(many)/2] + `{}],"manifests":[` + many[:len(many)/2+3] + `{}]}}`, errEntries},
		"null":                {`{"result":{"views":[` + strings.Repeat("null,", maxEntries) + `null]}}`, errEntries},
		"lists in lists":      {`{"result":{"hooks":[` + strings.Repeat("[],", maxEntries/2) + `[]]}}`, errEntries},
		"depth":               {`{"result":` + strings.Repeat("[", maxDepth+1), errDepth},
		"progress":            {`{"progress":{"manifests":[` + many + `{}]}}`, errEntries},
		"commas in a text":    {`{"result":{"manifests":[{"error":"[\"[,` + strings.Repeat(",[{", maxEntries) + `\\"}]}}`, nil},
	} {
		c := impostor(t, t.TempDir(), func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, row.line+"\n") })
		status, err := operation.Status.Ask(t.Context(), c)
		if row.want == nil && (err != nil || len(status.Manifests) != 1) || row.want != nil && (err == nil || !strings.Contains(err.Error(), row.want.Error())) {
			t.Errorf("%s: error %v, want %v", name, err, row.want)
		}
	}
}

func TestAnswersOfAnotherProgramAreNotFollowed(t *testing.T) {
	c := impostor(t, t.TempDir(), func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/status" {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
			return
		}
		t.Errorf("request for %s", r.URL.Path)
	})
	if _, err := operation.Status.Ask(t.Context(), c); err == nil || !strings.Contains(err.Error(), "status 302") {
		t.Errorf("error %v", err)
	}
}

// piped is a client whose peer has the other end of a pipe.
func piped(t *testing.T, peer func(net.Conn)) *Client {
	ours, theirs := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer theirs.Close()
		peer(theirs)
	}()
	dial := func(context.Context, string, string) (net.Conn, error) { return ours, nil }
	c := &Client{http: &http.Client{Transport: &http.Transport{DialContext: dial}}}
	t.Cleanup(func() { c.Close(); <-done })
	return c
}

// begin reads a request and sends the begin of an answer. An answer that comes before its
// request would end the connection.
func begin(conn net.Conn, answer string) {
	if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
		return
	}
	go io.Copy(io.Discard, conn)
	io.WriteString(conn, answer)
}

// drip sends a byte a second until the other side is gone.
func drip(conn net.Conn) {
	for {
		if _, err := io.WriteString(conn, " "); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

func TestPeerThatCompletesNoLineIsGivenUp(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\n\r\n"
	rows := map[string]struct {
		lines int
		then  func(net.Conn)
	}{
		"reads nothing":            {0, func(net.Conn) { time.Sleep(time.Hour) }},
		"answers nothing":          {0, func(conn net.Conn) { io.Copy(io.Discard, conn) }},
		"drips a header":           {0, func(conn net.Conn) { begin(conn, "HTTP/1.1 200 OK\r\nX:"); drip(conn) }},
		"drips a line":             {0, func(conn net.Conn) { begin(conn, head); drip(conn) }},
		"drips after some lines":   {3, drip},
		"is silent in a long line": {1, func(conn net.Conn) { conn.Write(bytes.Repeat([]byte(" "), 1<<20)); time.Sleep(time.Hour) }},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				last := time.Now()
				c := piped(t, func(conn net.Conn) {
					if row.lines > 0 {
						begin(conn, head)
					}
					for range row.lines {
						time.Sleep(linePatience - time.Second)
						last = time.Now()
						io.WriteString(conn, `{"progress":{}}`+"\n")
					}
					row.then(conn)
				})
				if _, err := operation.Sync.Do(t.Context(), c, request.Sync{}); !errors.Is(err, errSilent) || time.Since(last) != linePatience {
					t.Errorf("%v after %s", err, time.Since(last))
				}
			})
		})
	}
}

// Lines of progress prolong the wait for work only.
func TestPeerThatSendsProgressOnlyDoesNotHoldUpAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := piped(t, func(conn net.Conn) {
			begin(conn, "HTTP/1.1 200 OK\r\n\r\n")
			for err := error(nil); err == nil; _, err = io.WriteString(conn, `{"progress":{}}`+"\n") {
				time.Sleep(time.Second)
			}
		})
		start := time.Now()
		if _, err := operation.Status.Ask(t.Context(), c); !errors.Is(err, errSilent) || time.Since(start) != linePatience {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

func TestEndlessRequestIsRefused(t *testing.T) {
	dir := t.TempDir()
	h := &fakeEngine{}
	server, err := NewServer(context.Background(), dir, h.table())
	must(t, err)
	done := make(chan error, 1)
	go func() { done <- server.Serve() }()
	defer func() { server.Stop(t.Context()); <-done }()
	sendEndless(t, dir, "/sync", int(operation.Sync.MaxRequest)) // the server treats all operations alike
	if len(h.asked) > 0 {
		t.Errorf("asked %v", h.asked)
	}
}

// sendEndless requires that the server ends a request soon after its limit.
func sendEndless(t *testing.T, dir, path string, limit int) {
	t.Helper()
	conn, err := connect(t.Context(), dir)
	must(t, err)
	defer conn.Close()
	io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: syncd\r\nTransfer-Encoding: chunked\r\n\r\n")
	chunk := "10000\r\n" + strings.Repeat(" ", 1<<16) + "\r\n"
	sent := 0
	for ; err == nil && sent < limit>>16+100; sent++ {
		_, err = io.WriteString(conn, chunk)
	}
	if err == nil {
		t.Errorf("%s: the server took %d chunks", path, sent)
	}
}

func TestOtherThingsThanASocketAreRefused(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other.sock")
	listener, err := net.Listen("unix", other)
	must(t, err)
	defer listener.Close()
	for name, plant := range map[string]func(path string) error{
		"link to a socket": func(path string) error { return os.Symlink(other, path) },
		"FIFO":             func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"file":             func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		dir := t.TempDir()
		must(t, plant(filepath.Join(dir, socketName)))
		if _, err := Dial(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "is not a socket: remove it") {
			t.Errorf("%s: %v", name, err)
		}
	}
	planted := filepath.Join(t.TempDir(), "state")
	must(t, os.Symlink(filepath.Dir(other), planted))
	if _, err := Dial(t.Context(), planted); err == nil || errors.Is(err, ErrNotRunning) {
		t.Errorf("link in the place of the state folder: %v", err)
	}
}

// asOther is set in a child process of a test, which runs as another user.
const asOther = "SYNCD_CONTROL_DIR"

// TestAsAnotherUser does nothing by itself. In the child process it listens on the
// socket, or asks the one that is there.
func TestAsAnotherUser(t *testing.T) {
	dir := os.Getenv(asOther)
	if dir == "" {
		return // it is the child process of another test
	}
	listener, err := net.Listen("unix", filepath.Join(dir, socketName))
	if err != nil {
		conn, err := net.Dial("unix", filepath.Join(dir, socketName))
		must(t, err)
		io.WriteString(conn, "GET /status HTTP/1.1\r\nHost: syncd\r\n\r\n")
		answer, _ := io.ReadAll(conn)
		os.Stdout.WriteString("answer: " + string(answer) + ".\n")
		return
	}
	os.Stdout.WriteString("listening\n")
	io.Copy(io.Discard, os.Stdin)
	listener.Close()
}

// child starts TestAsAnotherUser as user 65534.
func child(t *testing.T, dir string) (stop func(), output *bufio.Reader) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root can start a process of another user")
	}
	binary := filepath.Join(dir, "test")
	data, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	must(t, os.WriteFile(binary, data, 0o755))
	cmd := exec.Command(binary, "-test.run=^TestAsAnotherUser$")
	cmd.Env = []string{asOther + "=" + filepath.Join(dir, "state")}
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return func() { in.Close(); _ = cmd.Wait() }, bufio.NewReader(out)
}

// openFolder is a folder that everybody may enter and write, with a state folder.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "syncd-control-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, err := range []error{os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "state"), 0o777), os.Chmod(filepath.Join(dir, "state"), 0o777)} {
		must(t, err)
	}
	return dir
}

func TestServerOfAnotherUserIsRefused(t *testing.T) {
	dir := openFolder(t)
	stop, output := child(t, dir)
	defer stop()
	if line, err := output.ReadString('\n'); line != "listening\n" {
		t.Fatalf("%q, %v", line, err)
	}
	state := filepath.Join(dir, "state")
	if _, err := Dial(t.Context(), state); err == nil || !strings.Contains(err.Error(), "process of user 65534, who does not own the data directory") {
		t.Errorf("error %v", err)
	}
	must(t, os.Chown(dir, 65534, -1))
	c, err := Dial(t.Context(), state)
	if err != nil {
		t.Fatalf("the owner's: %v", err)
	}
	c.Close()
}

// The owner of the folder could put a link to a file of root in the place of the socket, whose
// mode root's syncd then changed.
func TestNoSocketIsMadeInAFolderOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root can make folders of another user")
	}
	dir := openFolder(t)
	state := filepath.Join(dir, "state")
	must(t, os.Chown(state, 65534, -1))
	if _, err := NewServer(t.Context(), state, (&fakeEngine{}).table()); err == nil || !strings.Contains(err.Error(), "state belongs to user 65534 instead of user 0") {
		t.Errorf("error %v", err)
	}
	if names, err := filepath.Glob(filepath.Join(state, "*")); err != nil || len(names) > 0 {
		t.Errorf("found %v, %v", names, err)
	}
}

func TestClientOfAnotherUserIsNotAnswered(t *testing.T) {
	dir := openFolder(t)
	h := &fakeEngine{}
	client := serve(t, filepath.Join(dir, "state"), h)
	must(t, os.Chmod(filepath.Join(dir, "state", socketName), 0o666))
	stop, output := child(t, dir)
	defer stop()
	if line, err := output.ReadString('\n'); line != "answer: .\n" {
		t.Errorf("%q, %v", line, err)
	}
	if _, err := operation.Sync.Do(t.Context(), client, request.Sync{}); err != nil {
		t.Errorf("this user's: %v", err)
	}
}

// Each connection takes a descriptor of the daemon.
func TestConnectionsThatSayNothingAreLimited(t *testing.T) {
	dir := t.TempDir()
	server, err := NewServer(t.Context(), dir, (&fakeEngine{}).table())
	must(t, err)
	taken, gone := make(chan struct{}, 2*maxConnections), make(chan struct{}, 2*maxConnections)
	server.http.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			taken <- struct{}{}
		case http.StateClosed:
			gone <- struct{}{}
		}
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	var held []net.Conn
	for range maxConnections + 1 {
		conn, err := connect(t.Context(), dir)
		must(t, err)
		held = append(held, conn)
	}
	for range maxConnections {
		<-taken
	}
	select {
	case <-taken:
		if len(gone) == 0 { // a place is free again once a silent connection has timed out
			t.Errorf("more than %d connections are open", maxConnections)
		}
	case <-time.After(100 * time.Millisecond):
	}
	for _, conn := range held {
		conn.Close()
	}
	server.Stop(t.Context())
	must(t, <-served)
}
