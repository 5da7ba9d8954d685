package releases

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"syncd/internal/clients/service"
	"syncd/internal/clients/transport"
)

// callByName is a call as on the command line.
type callByName struct {
	operation, format string
	args              []string
}

// callsByName has a call at least for each operation. Names have characters that
// mean something in an address, and must not mean it there.
var callsByName = []callByName{
	{"Browse", "", []string{"mft=dq addr&data", "release=2026.Q4", "sort=dsize"}},
	{"Download/Library", "", []string{"os=LINUX", "compiler=GCC48", "architecture=64BIT", "release=2026.10", "filename=lib md+Addr.so?v=1", "tag=glibc 2.17+"}},
	{"Download/Data", "", []string{"release=latest", "filename=md Addr,1.dat", "tag=old & slow"}},
	{"Download/Interface", "", []string{"os=ANY", "language=PYTHON", "architecture=ANY", "release=2026.B3", "filename=md#Addr;é.py", "tag=py2"}},
	{"Download/Product", "", []string{"release=2026.Q4", "productname=dq 100%25", "tag=py2"}},
	{"Releases/Library", "", []string{"os=LINUX", "compiler=GCC48", "architecture=64BIT", "filename=lib md+Addr.so?v=1"}},
	{"Releases/Data", "", []string{"filename=md Addr,1.dat"}},
	{"Releases/Data", "crLfList", []string{"filename=md Addr,1.dat"}},
	{"Releases/Interface", "", []string{"os=ANY", "language=PYTHON", "architecture=ANY", "filename=md#Addr;é.py"}},
	{"Releases/Product", "", []string{"productname=dq 100%25"}},
	{"ManifestReleases", "", []string{"manifest=dq addr:data"}},
	{"Manifest", "", []string{"release=2026.10", "manifest=dq addr:data"}},
	{"ManifestList", "", []string{"release=2026.10"}},
	{"ManifestList", "xml", []string{"release=2026.10"}},
	{"Metadata/Library", "", []string{"os=LINUX", "compiler=GCC48", "architecture=64BIT", "release=2026.10", "filename=lib md+Addr.so?v=1", "tag=glibc 2.17+"}},
	{"Metadata/Data", "", []string{"release=latest", "filename=md Addr,1.dat", "tag=old & slow"}},
	{"Metadata/Interface", "", []string{"os=ANY", "language=PYTHON", "architecture=ANY", "release=2026.B3", "filename=md#Addr;é.py", "tag=py2"}},
	{"Metadata/Product", "", []string{"release=2026.Q4", "productname=dq 100%25", "tag=py2"}},
	{"{hashtype}/Library", "", []string{"os=LINUX", "compiler=GCC48", "architecture=64BIT", "release=2026.10", "filename=lib md+Addr.so?v=1", "tag=glibc 2.17+"}},
	{"{hashtype}/Data", "", []string{"release=latest", "filename=md Addr,1.dat", "tag=old & slow"}},
	{"{hashtype}/Interface", "", []string{"os=ANY", "language=PYTHON", "architecture=ANY", "release=2026.B3", "filename=md#Addr;é.py", "tag=py2"}},
	{"{hashtype}/Product", "", []string{"release=2026.Q4", "productname=dq 100%25", "tag=py2"}},
}

func TestOperationsByNameSendTheDocumentedRequests(t *testing.T) {
	for _, c := range callsByName {
		op := described(t, c.operation)
		for _, variant := range op.Variants() {
			name := strings.ReplaceAll(variant.Name, "/", "_")
			if c.format != "" {
				name += "_" + c.format
			}
			t.Run(name, func(t *testing.T) {
				golden(t, filepath.Join("golden", name+".http"), sent(t, variant, c.format, c.args))
			})
		}
	}
}

func TestOperationsByNameCoverEveryEndpoint(t *testing.T) {
	operations := Operations()
	if len(operations) != 20 {
		t.Errorf("%d operations", len(operations))
	}
	for _, op := range operations {
		if !slices.ContainsFunc(callsByName, func(c callByName) bool { return c.operation == op.Name }) {
			t.Errorf("%s is not called", op.Name)
		}
	}
}

func described(t *testing.T, name string) *service.Operation {
	t.Helper()
	for _, op := range Operations() {
		if op.Name == name {
			return op
		}
	}
	t.Fatalf("no operation %s", name)
	return nil
}

// sent makes a call in the way of a command line and returns the request that
// arrived.
func sent(t *testing.T, op *service.Operation, format string, args []string) string {
	t.Helper()
	const prefix = "Acme"
	members, extra, err := op.Arguments("GET", prefix, nil, args)
	must(t, err)
	call, err := op.Check(service.Form{Method: "GET", Format: format, Extra: extra}, members, prefix)
	must(t, err)
	if len(extra) > 0 || len(call.Unknown) > 0 {
		t.Errorf("not described: %v %v", extra, call.Unknown)
	}
	requests := make(chan string, 1)
	const body = "plain, and no JSON\r\n"
	client := connectByName(t, serve(t, requests, body), prefix)
	answer, err := client.Send(t.Context(), call)
	must(t, err)
	if string(answer.Raw) != body || answer.Value != nil {
		t.Errorf("answer %q, %v", answer.Raw, answer.Value)
	}
	return <-requests
}

// serve answers one request and writes it down with its path as it came.
func serve(t *testing.T, requests chan<- string, body string) *url.URL {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- rendered(r)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	must(t, err)
	return base
}

func rendered(r *http.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Method, r.URL.EscapedPath())
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		fmt.Fprintf(&b, "  %s\n", pair)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(r.Header[name], ", "))
	}
	return b.String()
}

// connectByName is a client that knows operations as data.
func connectByName(t *testing.T, base *url.URL, prefix string) *service.Client {
	t.Helper()
	web, err := transport.New(transport.Config{Base: base, CustomerID: testID, IDParam: "id", UserAgent: "syncd/test", StallTimeout: time.Minute})
	must(t, err)
	client := service.New(service.Config{Name: "releases", Prefix: prefix, CustomerID: testID, Web: web})
	t.Cleanup(client.Close)
	return client
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
