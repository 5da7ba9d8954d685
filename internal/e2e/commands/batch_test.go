package commands_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// keysOf lists the keys of the property requests that the provider has got.
func keysOf(h *e2e.Host) (keys []string) {
	h.Helper()
	for _, r := range h.Provider.Requests() {
		query, err := url.ParseQuery(r.RawQuery)
		h.Must(err)
		keys = append(keys, query.Get("mak"))
	}
	return keys
}

// writeKeys writes a batch, and returns its keys.
func writeKeys(h *e2e.Host, name string, n int) (keys []string) {
	h.Helper()
	var b strings.Builder
	b.WriteString("ref,mak,note\n")
	for i := range n {
		keys = append(keys, fmt.Sprint(9000000000+i))
		fmt.Fprintf(&b, "%d,%s,=%d\n", i, keys[i], i)
	}
	h.Write(name, b.String(), 0o600)
	return keys
}

// column returns a column of the output.
func column(h *e2e.Host, name, column string) (cells []string) {
	h.Helper()
	file, err := os.Open(h.Path(name))
	h.Must(err)
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	h.Must(err)
	for i, found := range records[0] {
		if found == column {
			for _, record := range records[1:] {
				cells = append(cells, record[i])
			}
			return cells
		}
	}
	h.Fatalf("%s has no column %s: %v", name, column, records[0])
	return nil
}

// finishedRows are the rows whose answer the journal has.
func finishedRows(h *e2e.Host) map[int]bool {
	h.Helper()
	text, _ := os.ReadFile(h.Path("out.csv.partial", "answers")) // a kill can come before the file
	rows := map[int]bool{}
	for line := range strings.Lines(string(text)) {
		var entry struct{ Row int }
		if strings.HasSuffix(line, "\n") {
			h.Must(json.Unmarshal([]byte(line), &entry))
			rows[entry.Row] = true
		}
	}
	return rows
}

// After each of 20 kills, the same command goes on. It asks for no row whose answer has
// arrived, and the output has each row once, in order.
func TestAKilledBatchGoesOn(t *testing.T) {
	t.Parallel()
	const rows, kills, atOnce = 300, 20, 4
	h := withServices(e2e.NewHost(t))
	keys := writeKeys(h, "in.csv", rows)
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindDelay, Delay: 20 * time.Millisecond, Host: emulator.HostProperty})
	command := []string{"call", "property", "LookupProperty", "--batch", "in.csv", "--out", "out.csv", "--rate", "2000", "--parallel", fmt.Sprint(atOnce)}
	repeated, asked := 0, map[string]bool{}
	check := func(finished map[int]bool) {
		for _, key := range keysOf(h) {
			if asked[key] {
				repeated++
			}
			asked[key] = true
			for i := range keys {
				if keys[i] == key && finished[i+1] {
					t.Errorf("row %d has its answer and was asked for again", i+1)
				}
			}
		}
	}
	for range kills {
		finished := finishedRows(h)
		h.Provider.ResetRequests()
		p := h.Start(command...)
		enough := 1 + rand.IntN(rows/kills)
		h.Eventually(fmt.Sprintf("%d requests", enough), func() bool { return len(h.Provider.Requests()) >= min(enough, rows-len(finished)) })
		p.Signal(syscall.SIGKILL)
		p.Wait()
		check(finished)
	}
	finished := finishedRows(h)
	h.Provider.ResetRequests()
	r := h.Expect(0, command...)
	check(finished)
	h.Contains("stderr", r.Stderr, "in.csv: 300 rows", "300 rows")
	e2e.Same(h, "keys", keys, column(h, "out.csv", "mak"))
	e2e.Same(h, "errors", make([]string, rows), column(h, "out.csv", "error"))
	e2e.Same(h, "results", rows, len(column(h, "out.csv", "result.Version")))
	if repeated > kills*atOnce || len(asked) != rows {
		t.Errorf("%d of %d rows were asked for, %d again after %d kills with %d in flight", len(asked), rows, repeated, kills, atOnce)
	}
	h.Provider.ResetRequests()
	h.Contains("stderr", h.Expect(0, command...).Stderr, "out.csv has the answers to all 300 rows of in.csv already")
	if again := keysOf(h); len(again) > 0 {
		t.Errorf("asked again for %v", again)
	}
}

// A batch that cannot go on says why, and how it goes on. One that cannot begin sends nothing.
func TestABatchThatStops(t *testing.T) {
	t.Parallel()
	h := withServices(e2e.NewHost(t))
	writeKeys(h, "in.csv", 6)
	batch := func(code int, more ...string) e2e.Result {
		h.Helper()
		return h.Expect(code, append([]string{"call", "property", "LookupProperty", "--batch", "in.csv", "--rate", "500"}, more...)...)
	}
	h.Provider.ResetRequests()
	h.Contains("no output", batch(2).Stderr, "--batch needs --out FILE")
	h.Contains("rate", batch(2, "--out", "o", "--rate", "0").Stderr, "--rate must be above 0")
	h.Contains("curl", batch(2, "--out", "o", "--curl").Stderr, "--batch and --curl exclude each other")
	h.Contains("same file", batch(2, "--out", "in.csv").Stderr, "in.csv: is also the output")
	h.Contains("argument and column", batch(2, "--out", "o", "mak=1").Stderr, "no row can be sent: row 1, line 2: ", "Records has 2 items")
	h.Contains("flag alone", h.Expect(2, "call", "property", "LookupProperty", "mak=1", "--out", "o").Stderr, "--out needs --batch")
	h.Contains("file", h.Expect(2, "call", "releases", "Download/Data", "--batch", "in.csv", "--out", "o").Stderr, "answers with a file")
	h.Write("ids.csv", "RecordID,mak\nA,4400112233\n", 0o600)
	h.Contains("input of POST", h.Expect(0, "call", "property", "LookupProperty", "--batch", "ids.csv", "--out", "o", "--dry-run").Stdout, "POST ", `{"RecordID":"A","MAK":"4400112233"}`)
	h.Contains("no input", h.Expect(2, "call", "property", "LookupProperty", "--batch", "none.csv", "--out", "o").Stderr, "none.csv: no such file")
	r := batch(0, "--out", "out.csv", "--dry-run")
	h.Contains("dry run", r.Stdout, "mak=9000000000")
	h.Contains("dry run", r.Stderr, "at most 6 requests to property LookupProperty", "columns that are sent: mak", "only kept: ref, note")
	if sent := keysOf(h); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 401, Type: "expiredLicense", Skip: 2, Host: emulator.HostProperty})
	r = batch(1, "--out", "out.csv", "--parallel", "1")
	h.Contains("stderr", r.Stderr, "2 of 6 rows are done, and kept in out.csv.partial: the same command goes on with the others", "status 401", "check the Customer ID and its licence")
	h.Provider.ClearFaults()
	h.Write("in.csv", "mak\n1\n", 0o600)
	h.Contains("changed input", batch(2, "--out", "out.csv").Stderr, "the input has changed since the batch began", "restore the input, or remove the folder")
	writeKeys(h, "in.csv", 6)
	h.Contains("stderr", batch(0, "--out", "out.csv").Stderr, "2 rows have their answer in out.csv.partial", "out.csv has the answers: 6 rows")
	h.CheckSecret()
}
