package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"syncd/internal/host/command"
)

func TestMain(m *testing.M) {
	if command.IsSupervisor() {
		os.Exit(command.Supervise())
	}
	goleak.VerifyTestMain(m)
}

var subject = Subject{Manifest: "m", Release: "2026.11", Revision: "abc", Previous: "old", Path: "/new"}

func shell(script string) Probe {
	return Probe{Command: []string{"/bin/sh", "-c", script}, Within: time.Minute, Every: time.Millisecond, Env: []string{"PATH=" + os.Getenv("PATH")}}
}

func ask(t *testing.T, p Probe) Answer {
	t.Helper()
	answer, err := p.Ask(t.Context(), subject, p.Within)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestAnswersOfCommands(t *testing.T) {
	hangs := shell("echo waiting; sleep 1000")
	hangs.Within = 200 * time.Millisecond
	for name, row := range map[string]struct {
		probe  Probe
		passed bool
		says   []string
	}{
		"works":     {shell("echo fine"), true, nil},
		"fails":     {shell("echo one; echo two >&2; exit 3"), false, []string{"exit status 3", "one", "two"}},
		"is killed": {shell("kill -9 $$"), false, []string{"killed"}},
		"hangs":     {hangs, false, []string{"still running", "waiting"}},
		"missing":   {Probe{Command: []string{"/no/such/program"}, Within: time.Minute}, false, []string{"cannot be run"}},
		"endless":   {shell("yes endless | head -c 50000000; exit 1"), false, []string{"endless"}},
		"variables": {shell("env | grep ^SYNCD_ | sort; exit 1"), false, []string{
			"SYNCD_EVENT=probe / SYNCD_MANIFEST=m / SYNCD_PATH=/new / SYNCD_PREVIOUS=old / SYNCD_RELEASE=2026.11 / SYNCD_REVISION=abc",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			answer := ask(t, row.probe)
			if answer.Passed != row.passed || row.passed != (answer.Error == "") || len(answer.Error) > 16<<10 {
				t.Errorf("%+v", answer)
			}
			for _, text := range row.says {
				if !strings.Contains(answer.Error, text) {
					t.Errorf("%q lacks %q", answer.Error, text)
				}
			}
		})
	}
}

// A command that forks away, into a session of its own, ends with the question.
func TestWhatACommandLeavesIsKilled(t *testing.T) {
	for _, end := range []string{"exit 0", "exit 1", "sleep 1000"} {
		file := filepath.Join(t.TempDir(), "pid")
		p := shell(fmt.Sprintf(`(setsid sh -c 'echo $$ > %s; exec sleep 1000' &) ; while [ ! -s %s ]; do sleep 0.01; done; %s`, file, file, end))
		p.Within = 2 * time.Second
		ask(t, p)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var pid int
		if _, err := fmt.Sscan(string(text), &pid); err != nil || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			t.Errorf("%s: process %d is left, %v", end, pid, err)
		}
	}
}

// consumer answers with a handler.
func consumer(t *testing.T, answer http.HandlerFunc) Probe {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	return Probe{URL: server.URL + "/s3cret-path?token=s3cret", Status: 200, Within: 500 * time.Millisecond, Every: 10 * time.Millisecond, UserAgent: "syncd/test"}
}

func TestAnswersOfURLs(t *testing.T) {
	text := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	endless := func(before string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for fmt.Fprint(w, before); r.Context().Err() == nil; {
				fmt.Fprintln(w, strings.Repeat("x", 1000))
			}
		}
	}
	drips := func(before string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for fmt.Fprint(w, before); r.Context().Err() == nil; time.Sleep(5 * time.Millisecond) {
				fmt.Fprint(w, "x")
				w.(http.Flusher).Flush()
			}
		}
	}
	redirects := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			t.Error("the redirect was followed")
		}
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}
	large := strings.Repeat("y", maxAnswer) + "2026.11"
	for name, row := range map[string]struct {
		answer   http.HandlerFunc
		contains string
		status   int
		passed   bool
		says     string
	}{
		"works":                    {text(200, "anything"), "", 200, true, ""},
		"has the release":          {text(200, `{"release": "2026.11"}`), "{release}", 200, true, ""},
		"has another one":          {text(200, `{"release": "2026.10"}`), "{release}", 200, false, `lack "2026.11"`},
		"another status":           {text(503, "loading"), "", 200, false, "answered with status 503, not 200: loading"},
		"the wanted status":        {text(204, ""), "", 204, true, ""},
		"endless":                  {endless(""), "", 200, true, ""},
		"endless, with the text":   {endless("2026.11\n"), "{release}", 200, true, ""},
		"endless, without it":      {endless(""), "{release}", 200, false, "lack"},
		"drips the text":           {drips("2026.11"), "{release}", 200, true, ""},
		"drips without it":         {drips("2026.1"), "{release}", 200, false, "did not end: its time was over"},
		"behind the limit":         {text(200, large), "{release}", 200, false, "the first 64 KiB"},
		"redirects":                {redirects, "", 200, false, "status 302, not 200 (redirects are not followed)"},
		"redirects, as is wanted":  {redirects, "", 302, true, ""},
		"an answer with no end":    {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "", 200, false, "gave no answer: its time was over"},
		"hangs up":                 {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "", 200, false, "gave no answer"},
		"headers without an end":   {headers(1 << 20), "", 200, false, "gave no answer"},
		"switches the protocol":    {switches, "", 200, false, "status 101"},
		"a text cut between reads": {halves("2026", ".11"), "{release}", 200, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := consumer(t, row.answer)
			p.Contains, p.Status = row.contains, row.status
			answer := ask(t, p)
			if answer.Passed != row.passed || !strings.Contains(answer.Error, row.says) || len(answer.Error) > 16<<10 {
				t.Errorf("%+v", answer)
			}
			if strings.Contains(answer.Error, "s3cret") || strings.Contains(strings.Join(answer.Lines, " "), "s3cret") {
				t.Errorf("a secret of the URL: %+v", answer)
			}
		})
	}
}

func headers(size int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", size))
	}
}

// switches leaves a connection behind that answers nothing.
func switches(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	_, _ = conn.Read(make([]byte, 1))
}

func halves(parts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, part := range parts {
			fmt.Fprint(w, part)
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// A proxy of the environment would answer in place of the consumer.
func TestNoProxyIsAsked(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a proxy was asked") }))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	p := Probe{URL: "http://probe.invalid:1/", Status: 200, Within: time.Second}
	if answer := ask(t, p); answer.Passed || !strings.Contains(answer.Error, "http://probe.invalid:1 gave no answer") {
		t.Errorf("%+v", answer)
	}
}

func TestPlaceholdersStayInTheirPlace(t *testing.T) {
	p := Probe{URL: "http://h/a/{manifest}/x?r={release}&v={revision}"}
	u, err := p.url(Subject{Manifest: "a/../b?c#d", Release: "1&x=2", Revision: "é"})
	if err != nil || u.String() != "http://h/a/a%2F..%2Fb%3Fc%23d/x?r=1%26x%3D2&v=%C3%A9" {
		t.Errorf("%s, %v", u, err)
	}
}

// The last question comes when the time is over, and has its time, so that neither a restart
// nor a slow answer decides.
func TestWatchAsksUntilTheTimeIsOver(t *testing.T) {
	counts := filepath.Join(t.TempDir(), "count")
	p := shell(fmt.Sprintf("echo x >> %s; test $(wc -l < %s) -ge 3", counts, counts))
	p.Within = time.Second
	var told []bool
	answer, err := p.Watch(t.Context(), subject, time.Now().Add(time.Hour), func(a Answer) { told = append(told, a.Passed) })
	if err != nil || !answer.Passed || fmt.Sprint(told) != "[false false true]" {
		t.Errorf("%+v, %v, %v", answer, err, told)
	}
	p = shell("exit 1")
	p.Every = time.Hour
	for name, until := range map[string]time.Duration{"over": -time.Hour, "soon": 50 * time.Millisecond} {
		asked := 0
		answer, err := p.Watch(t.Context(), subject, time.Now().Add(until), func(Answer) { asked++ })
		if err != nil || answer.Passed || asked == 0 || asked > 2 {
			t.Errorf("%s: %+v, %v, asked %d times", name, answer, err, asked)
		}
	}
	cause := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	p = shell("sleep 1000")
	time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
	if answer, err := p.Watch(ctx, subject, time.Now().Add(time.Hour), func(Answer) {}); !errors.Is(err, cause) || answer.Passed {
		t.Errorf("%+v, %v", answer, err)
	}
}

// A failure of this host is no answer of the consumer.
func TestAFailureOfTheHostIsNoAnswer(t *testing.T) {
	p := shell("true")
	p.Env = []string{"X=" + strings.Repeat("x", 3<<20)} // more than the kernel takes
	if answer, err := p.Ask(t.Context(), subject, time.Minute); !errors.Is(err, command.ErrSupervisor) || answer.Passed {
		t.Errorf("%+v, %v", answer, err)
	}
}
