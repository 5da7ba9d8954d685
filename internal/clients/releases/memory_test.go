package releases

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"syncd/cmd/syncd/gctune"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// maxCost is how much memory all answers that are read at the same time may cost.
const maxCost = 128 << 20

// asked are the calls that a process makes at once: for three manifests unless an answer
// says otherwise, for 64 files, and one of a command.
var asked = map[string]struct {
	times int
	call  func(context.Context, *Client, string, *Room) error
}{
	"ManifestReleases": {3, func(ctx context.Context, c *Client, name string, _ *Room) error {
		_, _, _, err := c.ManifestReleases(ctx, name, Validators{})
		return err
	}},
	"Manifest": {3, listFiles},
	"ManifestList": {1, func(ctx context.Context, c *Client, name string, _ *Room) error {
		_, err := c.ManifestList(ctx, manifest.Release(name))
		return err
	}},
	"Metadata": {64, func(ctx context.Context, c *Client, name string, _ *Room) error {
		_, err := c.Metadata(ctx, manifest.Parts{Class: manifest.Data, Release: "2026.10", Name: name}.Reference())
		return err
	}},
	"Hash": {64, func(ctx context.Context, c *Client, name string, _ *Room) error {
		_, err := c.Hash(ctx, manifest.SHA256, manifest.Parts{Class: manifest.Data, Release: "2026.10", Name: name}.Reference())
		return err
	}},
}

// listFiles takes the steps of a sync for the list of one manifest.
func listFiles(ctx context.Context, c *Client, name string, room *Room) error {
	share := room.NewShare()
	defer share.Release()
	list, err := c.Manifest(ctx, "2026.10", name, share)
	var full *NoRoomError
	for errors.As(err, &full) {
		if err = share.Wait(ctx, full.Size); err == nil {
			list, err = c.Manifest(ctx, "2026.10", name, share)
		}
	}
	if err != nil {
		return err
	}
	list.Fingerprint()
	list = manifest.Filter{}.Choose(list)
	if err := list.CheckPaths(); err != nil {
		return err
	}
	files := list.Files()
	time.Sleep(50 * time.Millisecond) // while a sync asks for digests
	runtime.KeepAlive(files)
	return nil
}

// answer is a body of begin, then items up to the limit of a list, then end.
type answer struct {
	endpoint    string
	begin       string
	item        func(i int) string
	end         string
	length      int // 0 for the limit of a list
	want        refusal.Reason
	status      int
	headers     int
	itemsAtMost int // 0 for any number
	times       int // asked at once; 0 for as often as usual
}

func same(s string) func(int) string { return func(int) string { return s } }

func numbered(format string) func(int) string {
	return func(i int) string { return fmt.Sprintf(format, i) }
}

var hostile = map[string]answer{
	"empty strings":                {endpoint: "Manifest", begin: "[", item: same(`"",`), end: `""]`, want: refusal.TooLarge},
	"empty ids":                    {endpoint: "ManifestReleases", times: 25, begin: "[", item: same(`"",`), end: `""]`, want: refusal.TooLarge, length: 12 << 20},
	"empty elements":               {endpoint: "Manifest", begin: "<a>", item: same(`<s/>`), end: `</a>`, want: refusal.TooLarge},
	"empty objects":                {endpoint: "ManifestList", begin: "[", item: same(`{},`), end: `{}]`, want: refusal.TooLarge},
	"empty object elements":        {endpoint: "ManifestList", begin: "<a>", item: same(`<s/>`), end: `</a>`, want: refusal.TooLarge},
	"empty lines":                  {endpoint: "Manifest", begin: "a", item: same("\n"), want: refusal.TooLarge},
	"lines of one letter":          {endpoint: "Manifest", item: same("a\n"), want: refusal.TooLarge},
	"tabs":                         {endpoint: "Manifest", item: same("a\t"), want: refusal.TooLarge},
	"commas":                       {endpoint: "ManifestReleases", item: same("a,"), want: refusal.TooLarge},
	"one link with commas":         {endpoint: "Manifest", begin: "a://b", item: same(","), want: refusal.TooLarge},
	"one long string":              {endpoint: "Manifest", begin: `["`, item: same("aaaaaaaa"), end: `"]`, want: refusal.TooLarge},
	"one long escaped string":      {endpoint: "Manifest", begin: `["`, item: same(`\u0041`), end: `"]`, want: refusal.TooLarge},
	"one long text":                {endpoint: "ManifestReleases", item: same("aaaaaaaa"), want: refusal.TooLarge},
	"one long quoted text":         {endpoint: "Manifest", begin: `"`, item: same(`a,`), end: `"`, want: refusal.TooLarge},
	"one long element":             {endpoint: "Manifest", begin: "<a><s>", item: same("aaaaaaaa"), end: "</s></a>", want: refusal.TooLarge},
	"one long object element":      {endpoint: "ManifestList", begin: "<a><s>", item: same("<t>a</t>"), end: "</s></a>", want: refusal.TooLarge},
	"a million members":            {endpoint: "ManifestList", begin: "[{", item: numbered(`"%d":0,`), end: `"a":0}]`, want: refusal.TooLarge},
	"a million attributes":         {endpoint: "Manifest", begin: "<a ", item: numbered(`a%d="" `), end: `></a>`, want: refusal.TooLarge},
	"a comment":                    {endpoint: "Manifest", begin: "<!--", item: same("aaaaaaaa"), end: `--><a/>`, want: refusal.TooLarge},
	"text in pieces":               {endpoint: "Manifest", begin: "<a><s>", item: same("aaa<!---->"), end: `</s></a>`, want: refusal.TooLarge},
	"white space before":           {endpoint: "Manifest", item: same("        "), end: "[]", length: 8 << 20},
	"white space after":            {endpoint: "Manifest", begin: "[]", item: same("        "), length: 8 << 20},
	"white space between":          {endpoint: "Manifest", begin: "[", item: same("        "), end: "]", want: refusal.TooLarge},
	"an error object":              {endpoint: "Manifest", begin: `{"type":"`, item: same("aaaaaaaa"), end: `"}`, want: refusal.BadShape},
	"deep arrays":                  {endpoint: "Manifest", item: same("[[[[[[[["), want: refusal.BadShape},
	"deep objects":                 {endpoint: "ManifestList", begin: "[", item: same(`{"a":`), want: refusal.BadShape},
	"deep elements":                {endpoint: "ManifestList", item: same("<a>"), want: refusal.TooLarge},
	"long ids":                     {endpoint: "ManifestReleases", times: 25, begin: "[", item: same(`"` + strings.Repeat("a", 999) + `",`), end: `""]`, want: refusal.TooLarge, length: 12 << 20},
	"long descriptions":            {endpoint: "ManifestList", begin: "[", item: numbered(`{"manifestName":"m%d","description":"` + strings.Repeat("a", 60_000) + `"},`), end: `{"manifestName":"n"}]`, length: 12 << 20},
	"links of 8 KiB":               {endpoint: "Manifest", begin: `["/Download/Data/2026.10/a"`, item: numbered(`,"/Download/Data/2026.10/%d?` + strings.Repeat("a", 8000) + `"`), end: `]`, length: 16 << 20},
	"long names":                   {endpoint: "Manifest", begin: `["/Download/Data/2026.10/a"`, item: numbered(`,"/Download/Data/2026.10/%d` + strings.Repeat("a", 200) + `"`), end: `]`, want: refusal.TooLarge, length: 24 << 20},
	"long segments":                {endpoint: "Manifest", times: 8, begin: `["/Download/Data/2026.10/a"`, item: numbered(`,"/Download/Library/` + strings.Repeat("a", 200) + `%[1]d/` + strings.Repeat("b", 200) + `%[1]d/b/2026.10/a"`), end: `]`, length: 16 << 20, want: refusal.TooLarge},
	"most files that are accepted": {endpoint: "Manifest", begin: `["/Download/Data/2026.10/a"`, item: numbered(`,"http://provider.example/Download/Data/2026.10/Some_File-%06d.dat?ID=0123456789"`), end: `]`, itemsAtMost: 249_999, times: 3},
	"4 times 150,000 files":        {endpoint: "Manifest", begin: `["/Download/Data/2026.10/a"`, item: numbered(`,"/Download/Data/2026.10/Some_File-%06d.dat"`), end: `]`, itemsAtMost: 149_999, times: 4},
	"25 times 20,000 long names":   {endpoint: "Manifest", begin: `["/Download/Data/2026.10/a"`, item: numbered(`,"/Download/Data/2026.10/%06d` + strings.Repeat("a", 200) + `"`), end: `]`, itemsAtMost: 19_999, times: 25},
	"a thousand members":           {endpoint: "Metadata", begin: "{", item: numbered(`"%d":0,`), end: `"a":0}`, length: 60_000},
	"deep metadata":                {endpoint: "Metadata", begin: `{"a":`, item: same(`[`), length: 60_000, want: refusal.BadShape},
	"a hash that does not end":     {endpoint: "Hash", item: same("aaaaaaaa"), length: 1 << 20, want: refusal.TooLarge},
	"error bodies":                 {endpoint: "Hash", begin: `{"errors":{`, item: numbered(`"%d":0,`), end: `"a":0}}`, status: 400},
	"many headers":                 {endpoint: "Hash", item: same("a"), length: 10, headers: 15_000, want: refusal.BadShape},
}

func (a answer) writeHeader(w http.ResponseWriter) {
	for i := range a.headers {
		w.Header().Add(fmt.Sprintf("a%d", i), "")
	}
	w.Header().Set("Content-Encoding", "gzip")
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
}

// pack writes the compressed body until the client has gone.
func (a answer) pack(w io.Writer) {
	packed, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
	defer packed.Close()
	body := bufio.NewWriterSize(packed, 64<<10)
	defer body.Flush()
	_, err := body.WriteString(a.begin)
	for i, left := 0, cmp.Or(a.length, maxList)-len(a.begin)-len(a.end); err == nil && (a.itemsAtMost == 0 || i < a.itemsAtMost); i++ {
		item := a.item(i)
		if left -= len(item); left < 0 {
			break
		}
		_, err = body.WriteString(item)
	}
	_, _ = body.WriteString(a.end)
}

// serveAll is a child: it answers with the hostile bodies until its input ends, and
// prints its address. It packs a body that is asked for often only once.
func serveAll() error {
	var mu sync.Mutex // guards packed
	packed := map[string]*bytes.Buffer{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		a := hostile[name]
		a.writeHeader(w)
		if a.times == 0 {
			a.pack(w)
			return
		}
		mu.Lock()
		body := packed[name]
		if body == nil {
			body = &bytes.Buffer{}
			a.pack(body)
			packed[name] = body
		}
		mu.Unlock()
		_, _ = w.Write(body.Bytes())
	}))
	defer server.Close()
	fmt.Println(server.URL)
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// The test runs itself as two children, of which one asks the other.
func TestNoAnswerCostsMoreThan128MiBWhen25ManifestsArePolledTogether(t *testing.T) {
	// The race detector needs several times the memory and the time, so both children do without.
	binary := filepath.Join(t.TempDir(), "releases.test")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-race=false", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server := exec.CommandContext(t.Context(), binary)
	server.Env = append(os.Environ(), hostileURL+"=serve")
	server.Stderr = os.Stderr
	input, err := server.StdinPipe()
	must(t, err)
	output, err := server.StdoutPipe()
	must(t, err)
	must(t, server.Start())
	defer func() {
		input.Close()
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	}()
	address, err := bufio.NewReader(output).ReadString('\n')
	must(t, err)
	child := exec.CommandContext(t.Context(), binary)
	child.Env = append(os.Environ(), hostileURL+"="+strings.TrimSpace(address))
	child.Stderr = os.Stderr
	out, err := child.Output()
	for line := range strings.SplitSeq(string(out), "\n") {
		var m measured
		if json.Unmarshal([]byte(line), &m) != nil {
			continue
		}
		t.Logf("%-30s %4d MiB, %s  %s", m.Name, m.Cost>>20, m.Took, m.Error)
		if m.Cost > maxCost {
			t.Errorf("%s: %d MiB, want at most %d MiB", m.Name, m.Cost>>20, maxCost>>20)
		}
		if m.Reason != hostile[m.Name].want || m.Reason == "" && m.Error != "" && hostile[m.Name].status == 0 {
			t.Errorf("%s: %s (%q), want reason %q", m.Name, m.Error, m.Reason, hostile[m.Name].want)
		}
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// hostileURL is the variable that makes the test binary a child: the server, or what asks
// the server at that address.
const hostileURL = "SYNCD_HOSTILE_URL"

type measured struct {
	Name   string
	Cost   int64
	Took   time.Duration
	Reason refusal.Reason
	Error  string
}

// measureAll is the child: it prints what each hostile answer costs.
func measureAll(base string) error {
	gctune.Start(func(string) string { return "" })
	c, err := client(base)
	if err != nil {
		return err
	}
	names, first, step := slices.Sorted(maps.Keys(hostile)), rand.IntN(4), 4 // every fourth one
	if os.Getenv("SYNCD_TORTURE") == "full" {
		first, step = 0, 1
	}
	for i := first; i < len(names); i += step {
		m, err := measure(c, names[i])
		if err != nil {
			return err
		}
		line, err := json.Marshal(m)
		if err != nil {
			return err
		}
		fmt.Printf("%s\n", line)
	}
	return nil
}

// measure asks up to three times while the cost is too high, and returns the least: on a
// busy machine the collector may run late, but not every time.
func measure(c *Client, name string) (least measured, err error) {
	for attempt := range 3 {
		debug.FreeOSMemory()
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // resets the peak
			return measured{}, err
		}
		m, before, begun := measured{Name: name}, peak(), time.Now()
		if err := askAll(context.Background(), c, name); err != nil {
			m.Reason, m.Error = refusal.ReasonOf(err), err.Error()
		}
		m.Cost, m.Took = peak()-before, time.Since(begun).Round(time.Millisecond)
		if attempt == 0 || m.Cost < least.Cost {
			least = m
		}
		if least.Cost <= maxCost {
			break
		}
	}
	return least, nil
}

// askAll asks for the same hostile answer as often at once as the engine does.
func askAll(ctx context.Context, c *Client, name string) error {
	var group errgroup.Group
	ask, room := asked[hostile[name].endpoint], NewRoom()
	for range cmp.Or(hostile[name].times, ask.times) {
		group.Go(func() error { return ask.call(ctx, c, name, room) })
	}
	return group.Wait()
}

// peak is the largest resident memory of this process since the last reset.
func peak() (size int64) {
	status, _ := os.ReadFile("/proc/self/status")
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(after, &size); err != nil {
		panic(err)
	}
	return size << 10
}
