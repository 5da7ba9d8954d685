package web

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// patience is a deadline that only a bug reaches.
const patience = time.Minute

// browser is one tab of a headless Chromium, controlled over a pipe with the DevTools
// protocol.
type browser struct {
	*testing.T
	commands io.Writer
	answers  *bufio.Reader
	session  string
	id       int
}

// openBrowser needs Chromium. Without it the test is skipped, and CI fails.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("NOT TESTED: the page in a browser: install chromium")
	}
	commandsOut, commandsIn, err := os.Pipe()
	must(t, err)
	answersOut, answersIn, err := os.Pipe()
	must(t, err)
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
		"--disable-dev-shm-usage", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{commandsOut, answersIn} // descriptors 3 and 4
	must(t, cmd.Start())
	commandsOut.Close()
	answersIn.Close()
	must(t, answersOut.SetReadDeadline(time.Now().Add(patience)))
	b := &browser{T: t, commands: commandsIn, answers: bufio.NewReader(answersOut)}
	t.Cleanup(func() {
		_, _ = b.call("Browser.close", nil)
		commandsIn.Close()
		_ = cmd.Wait() // closing the pipe may kill it
		answersOut.Close()
	})
	var target struct{ TargetID string }
	b.do("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.do("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	return b
}

// call sends a command and waits for its response; it skips events.
func (b *browser) call(method string, params any) (json.RawMessage, error) {
	b.id++
	command := map[string]any{"id": b.id, "method": method, "sessionId": b.session, "params": params}
	if b.session == "" {
		delete(command, "sessionId")
	}
	if params == nil {
		delete(command, "params")
	}
	data, err := json.Marshal(command)
	if err != nil {
		return nil, err
	}
	if _, err := b.commands.Write(append(data, 0)); err != nil {
		return nil, err
	}
	for {
		data, err := b.answers.ReadBytes(0)
		if err != nil {
			return nil, err
		}
		var answer struct {
			ID     int
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(data[:len(data)-1], &answer); err != nil {
			return nil, err
		}
		if answer.ID != b.id {
			continue
		}
		if answer.Error != nil {
			return nil, errors.New(answer.Error.Message)
		}
		return answer.Result, nil
	}
}

func (b *browser) do(method string, params, out any) {
	b.Helper()
	result, err := b.call(method, params)
	if err != nil {
		b.Fatalf("%s: %v", method, err)
	}
	if out != nil {
		must(b.T, json.Unmarshal(result, out))
	}
}

// eval sets out to the value of an expression; it waits for a promise.
func (b *browser) eval(script string, out any) error {
	result, err := b.call("Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true, "awaitPromise": true})
	if err != nil {
		return err
	}
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	if err := json.Unmarshal(result, &answer); err != nil {
		return err
	}
	if e := answer.ExceptionDetails; e != nil {
		return fmt.Errorf("%s %s", e.Text, e.Exception.Description)
	}
	return json.Unmarshal(answer.Result.Value, out)
}

// until waits until the script is true. It fails while the page is being replaced.
func (b *browser) until(what, script string) {
	b.Helper()
	for deadline := time.Now().Add(patience / 2); ; time.Sleep(20 * time.Millisecond) {
		var holds bool
		err := b.eval(script, &holds)
		if holds {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("timed out waiting until %s: %v\n%s", what, err, b.text())
		}
	}
}

func (b *browser) visit(url string) {
	b.Helper()
	b.do("Page.navigate", map[string]any{"url": url}, nil)
	b.until("the page is loaded", `document.readyState === "complete" && location.href.startsWith("http")`)
}

func (b *browser) text() (text string) {
	_ = b.eval("document.body.innerText", &text)
	return text
}
