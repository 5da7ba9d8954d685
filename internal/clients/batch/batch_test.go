package batch

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"syncd/internal/clients/service"
	"syncd/internal/clients/transport"
)

// lookup reads, submit writes.
var (
	inputFields = service.Fields{Inputs: []service.Input{
		{Name: "Key", Query: "key", Kind: service.Key, Required: true},
		{Name: "City", Query: "city", Kind: service.Text},
	}}
	lookup = &service.Operation{Name: "Lookup", Methods: service.GetOnly, Formats: []string{service.FormatJSON}, Fields: inputFields}
	submit = &service.Operation{Name: "Submit", Methods: service.GetOnly, Formats: []string{service.FormatJSON}, Writes: true, Fields: inputFields}
)

// provider answers with the key that was asked for, unless answers has another answer.
type provider struct {
	*testing.T
	url string

	mu      sync.Mutex
	answers map[string]string // by key: a status and a body
	asked   map[string]int
}

func newProvider(t *testing.T) *provider {
	p := &provider{T: t, answers: map[string]string{}, asked: map[string]int{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.URL.Query().Get("key")
		p.mu.Lock()
		p.asked[key]++
		answer := p.answers[key]
		if answer == "" {
			answer = p.answers[""]
		}
		p.mu.Unlock()
		status, body, _ := strings.Cut(answer, " ")
		if status == "" {
			status, body = "200", `{"Results":"XS01","Records":[{"Key":"`+key+`"}]}`
		}
		code := 0
		fmt.Sscan(status, &code)
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func (p *provider) answer(key, answer string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[key] = answer
}

func (p *provider) count() (keys, requests int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.asked {
		requests += n
	}
	return len(p.asked), requests
}

// job is a batch in a folder of its own.
type job struct {
	*provider
	operation *service.Operation
	dir       string
	atOnce    int
	arguments []string
	input     string
	output    string
}

func newJob(t *testing.T, input string) *job {
	j := &job{newProvider(t), lookup, t.TempDir(), 4, nil, "in.csv", "out.csv"}
	j.write(input)
	return j
}

func (j *job) write(input string) {
	j.Helper()
	if err := os.WriteFile(filepath.Join(j.dir, "in.csv"), []byte(input), 0o600); err != nil {
		j.Fatal(err)
	}
}

func (j *job) run(ctx context.Context) (b *Batch, failed int, err error) {
	j.Helper()
	base, err := url.Parse(j.url)
	if err != nil {
		j.Fatal(err)
	}
	client, err := service.Connect("test", "Acme", transport.Config{
		Base: base, CustomerID: "CID-s3cret", Retry: transport.Retry{InitialInterval: time.Millisecond, MaxElapsed: 20 * time.Millisecond},
	}, nil)
	if err != nil {
		j.Fatal(err)
	}
	defer client.Close()
	b, err = Open(Config{
		Client: client, Service: "test", Operation: j.operation, Form: service.Form{Method: "GET"}, Arguments: j.arguments,
		Input: filepath.Join(j.dir, j.input), Output: filepath.Join(j.dir, j.output), Rate: 10_000, AtOnce: j.atOnce,
	})
	if err != nil {
		return nil, 0, err
	}
	defer b.Close()
	if isComplete, err := b.Begin(); isComplete || err != nil {
		return b, b.Failed, err
	}
	failed, err = b.Run(ctx)
	return b, failed, err
}

func (j *job) complete(failed int) {
	j.Helper()
	if _, got, err := j.run(j.Context()); err != nil || got != failed {
		j.Fatalf("%d rows failed, %v, want %d", got, err, failed)
	}
}

// stops expects a batch to stop, and to keep so many rows.
func (j *job) stops(done int, text string) {
	j.Helper()
	_, _, err := j.run(j.Context())
	stopped, ok := errors.AsType[*StoppedError](err)
	if !ok || !strings.Contains(err.Error(), text) || stopped.Done != done {
		j.Fatalf("%v, want a stop after %d rows: %s", err, done, text)
	}
	if _, err := os.Stat(filepath.Join(j.dir, j.output)); err == nil {
		j.Fatal("there is an output")
	}
}

func (j *job) refused(text string) {
	j.Helper()
	_, before := j.count()
	_, _, err := j.run(j.Context())
	if _, ok := errors.AsType[*InputError](err); !ok || !strings.Contains(err.Error(), text) {
		j.Errorf("%v, want %s", err, text)
	}
	if _, after := j.count(); after != before {
		j.Error("something was sent")
	}
}

// rows returns the output by the names of its columns.
func (j *job) rows() (rows []map[string]string) {
	j.Helper()
	text, err := os.ReadFile(filepath.Join(j.dir, j.output))
	if err != nil {
		j.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		j.Fatal(err)
	}
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = record[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func keys(n int) string {
	var b strings.Builder
	b.WriteString("key,note\n")
	for i := range n {
		fmt.Fprintf(&b, "%d,=n%d\n", i+1, i+1)
	}
	return b.String()
}

func TestABatchKeepsOrderAndColumns(t *testing.T) {
	j := newJob(t, keys(50)+"abc,bad\n,empty\n")
	j.answer("7", `200 {"Results":"GE07","Records":null}`)
	j.complete(3)
	rows := j.rows()
	for i, row := range rows[:50] {
		number := fmt.Sprint(i + 1)
		if row["key"] != number || row["note"] != "=n"+number || number != "7" && (row["result.Records.1.Key"] != number || row["error"] != "") {
			t.Errorf("row %s: %v", number, row)
		}
	}
	for number, want := range map[int]string{7: "GE07 (invalid request)", 51: "row 51, line 52: Lookup: key must be a key of digits", 52: "missing key"} {
		if got := rows[number-1]; !strings.Contains(got["error"], want) {
			t.Errorf("row %d: %v, want %s", number, got, want)
		}
	}
	if keys, requests := j.count(); keys != 50 || requests != 50 {
		t.Errorf("%d keys, %d requests", keys, requests)
	}
	j.complete(3) // the output is there: nothing is asked
	if _, requests := j.count(); requests != 50 {
		t.Errorf("%d requests", requests)
	}
	if left, _ := os.ReadDir(j.dir); len(left) != 2 {
		t.Errorf("left %v", left)
	}
	j.write(keys(51))
	j.refused("out.csv exists and is not the outcome of ")
}

func TestABatchGoesOn(t *testing.T) {
	j := newJob(t, keys(40))
	j.atOnce = 1
	j.answer("21", `401 {"type":"invalidLicense"}`)
	j.stops(20, "check the Customer ID")
	j.answer("21", "")
	j.answer("25", "500 broken")
	j.answer("26", "200 <html>A hotel</html>")
	j.stops(24, "status 500")
	j.arguments = []string{"city=Elmstead"}
	j.refused("holds answers to another operation, or with other arguments")
	j.arguments = nil
	j.write(keys(39) + "41,x\n")
	j.refused("the input has changed since the batch began")
	j.write(keys(40))
	j.answer("25", "")
	j.answer("26", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := j.run(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	j.complete(0)
	for key, n := range j.asked {
		if n != 1 && key != "21" && key != "25" && key != "26" {
			t.Errorf("row %s was asked %d times", key, n)
		}
	}
}

// The last rows may be the cause of their failure: they are tried in two runs.
func TestTheLastRowMayAlwaysFail(t *testing.T) {
	j := newJob(t, keys(9))
	j.atOnce = 1
	j.answer("9", "500 broken")
	j.stops(8, "status 500")
	j.complete(1)
}

// A row that fails while others are answered has the error; it does not stop the batch.
func TestARowThatAlwaysFailsIsAnError(t *testing.T) {
	j := newJob(t, keys(30))
	j.atOnce = 1
	for key, answer := range map[string]string{"5": "500 broken", "11": "200 <html>A page</html>", "14": "404 none", "17": "400 bad"} {
		j.answer(key, answer)
	}
	j.complete(4)
	for i, row := range j.rows() {
		if hasError := row["error"] != ""; hasError != (j.answers[fmt.Sprint(i+1)] != "") {
			t.Errorf("row %d: %v", i+1, row)
		}
	}
}

func TestADeadServiceStopsTheBatch(t *testing.T) {
	for name, answer := range map[string]string{
		"error": "500 broken", "page": "200 <html>Log in</html>", "credential": "401 no", "address": "404 none",
		"code": `200 {"Results":"GE05"}`, "redirect": "302 x",
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, keys(100))
			j.answer("", answer)
			j.stops(0, "")
			if keys, _ := j.count(); keys > 8 {
				t.Errorf("asked for %d rows", keys)
			}
			j.answer("", "")
			j.complete(0)
		})
	}
}

// A submission that was being sent is never sent again.
func TestASubmissionInFlightIsNotRepeated(t *testing.T) {
	j := newJob(t, keys(10))
	j.operation, j.atOnce = submit, 1
	j.answer("4", "500 broken")
	j.stops(4, "may have been accepted")
	j.answer("5", "401 no")
	j.stops(4, "check the Customer ID")
	j.answer("5", "")
	begun := filepath.Join(j.dir, "out.csv.partial", "answers")
	text, err := os.ReadFile(begun)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(begun, append(text, "{\"row\":6,\"asking\":true}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	j.complete(2)
	rows := j.rows()
	if !strings.Contains(rows[3]["error"], "may have been accepted") || !strings.Contains(rows[5]["error"], "may have been accepted") || rows[4]["error"] != "" {
		t.Errorf("got %v", rows)
	}
	if j.asked["4"] != 1 || j.asked["5"] != 2 || j.asked["6"] != 0 {
		t.Errorf("asked %v", j.asked)
	}
}

func TestDamagedJournals(t *testing.T) {
	j := newJob(t, keys(5))
	j.atOnce = 1
	j.answer("4", "401 no")
	j.stops(3, "")
	file := filepath.Join(j.dir, "out.csv.partial", "answers")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damage := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := strings.SplitAfter(string(whole), "\n")
	damage(strings.Join(append([]string{all[0], "{\"row\":77}\n"}, all[1:]...), ""))
	j.refused("is damaged at byte")
	damage("{\"batch\":9}\n")
	j.refused("is not the journal of a batch that this version knows")
	damage(string(whole) + `{"row":4,"answer":{"Re`)
	j.stops(3, "")
	damage(strings.TrimSuffix(string(whole), "\"}]}}\n"))
	j.answer("4", "")
	j.complete(0)
	if j.asked["3"] != 2 || j.asked["2"] != 1 {
		t.Errorf("asked %v", j.asked)
	}
}

func TestAJournalCutInItsFirstLineBeginsAgain(t *testing.T) {
	j := newJob(t, keys(2))
	if err := os.Mkdir(filepath.Join(j.dir, "out.csv.partial"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(j.dir, "out.csv.partial", "answers"), []byte(`{"batch":1,"in`), 0o600); err != nil {
		t.Fatal(err)
	}
	j.complete(0)
}

// Who can write in the folder of the output can give the journal's name to another folder.
func TestAFolderWithOtherFilesIsNoJournal(t *testing.T) {
	j := newJob(t, keys(2))
	other := filepath.Join(j.dir, "out.csv.partial", "of others")
	if err := errors.Join(os.Mkdir(filepath.Dir(other), 0o700), os.WriteFile(other, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := j.run(t.Context()); err == nil || !strings.Contains(err.Error(), "no part of a batch") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

func TestInputsThatCannotBegin(t *testing.T) {
	for input, want := range map[string]string{
		"key\n":             "has no rows",
		"name\nx\n":         "no row can be sent",
		"key,KEY\n1,2\n":    "columns key and KEY are both the input key",
		"key,Key,x\n1,,\n":  "columns key and Key are both the input key",
		"key\nabc\n\"\"x\n": "no row can be sent: row 1, line 2: Lookup: key must be",
		"key\n1\n\"2\n3\n":  "a quote that opens in line 3",
	} {
		newJob(t, input).refused(want)
	}
}

func TestLinesOfJSONNest(t *testing.T) {
	j := newJob(t, `{"key":5,"own":{"list":[1,null]},"error":"old"}`+"\n"+`{"city":"x"}`+"\n")
	j.input, j.output = "in.ndjson", "out.ndjson"
	if err := os.Rename(filepath.Join(j.dir, "in.csv"), filepath.Join(j.dir, j.input)); err != nil {
		t.Fatal(err)
	}
	j.complete(1)
	text, err := os.ReadFile(filepath.Join(j.dir, j.output))
	want := `{"key":5,"own":{"list":[1,null]},"error":"old","error2":"","result":{"Results":"XS01","Records":[{"Key":"5"}]}}` + "\n" +
		`{"city":"x","error2":"row 2, line 2: Lookup: missing key (key of digits)","result":null}` + "\n"
	if string(text) != want || err != nil {
		t.Errorf("%v, got\n%swant\n%s", err, text, want)
	}
	j.complete(1)
	j.output = "out.csv"
	j.complete(1)
	if rows := j.rows(); rows[0]["own.list.1"] != "1" || rows[0]["result.Records.1.Key"] != "5" || rows[1]["city"] != "x" {
		t.Errorf("%v", rows)
	}
	j.complete(1)
	if _, requests := j.count(); requests != 2 {
		t.Errorf("%d requests", requests)
	}
}

func TestFlattenedColumnsAreBounded(t *testing.T) {
	records := make([]string, maxColumns)
	names := make([]string, maxColumns)
	for i := range records {
		records[i], names[i] = fmt.Sprintf(`{"n":%d}`, i), fmt.Sprintf(`"m%d":1`, i)
	}
	j := newJob(t, keys(3))
	j.answer("2", `200 {"Results":"XS01","Records":[`+strings.Join(records, ",")+`]}`)
	j.complete(0)
	rows := j.rows()
	var list []any
	if err := json.Unmarshal([]byte(rows[1]["result.Records"]), &list); err != nil || len(list) != maxColumns || rows[0]["result.Records"] != `[{"Key":"1"}]` {
		t.Errorf("%v, %v", rows[0], err)
	}
	j.output = "wide.csv"
	j.answer("2", `200 {"Results":"XS01",`+strings.Join(names, ",")+`}`)
	j.complete(0)
	if rows := j.rows(); len(rows[0]) != 4 || rows[0]["result"] != `{"Results":"XS01","Records":[{"Key":"1"}]}` {
		t.Errorf("%v", rows[0])
	}
}
