package emulator

import (
	"bytes"
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"syncd/internal/emulator/catalogue"
	"syncd/internal/emulator/wire"
)

// answerFault answers a request in place of the service.
func answerFault(f Fault, id string, w http.ResponseWriter, r *http.Request) {
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	expand := func(s string) string { return strings.ReplaceAll(s, "{id}", id) }
	switch f.Kind {
	case KindShape:
		shapes[f.Shape](w, r, id)
	case KindRedirect:
		location := expand(f.Location)
		if location == "self" {
			location = r.URL.RequestURI()
		}
		w.Header().Set("Location", location)
		wire.Write(w, f.statusOr(http.StatusFound), "", nil)
	case KindBody:
		body := expand(f.Body)
		wire.Write(w, f.statusOr(http.StatusOK), typeOf(body), []byte(body))
	case KindStatus:
		statusFault(f, w, id, expand(f.Body))
	}
}

func statusFault(f Fault, w http.ResponseWriter, id, body string) {
	status := f.statusOr(http.StatusServiceUnavailable)
	if body != "" {
		wire.Write(w, status, typeOf(body), []byte(body))
		return
	}
	wire.Problem{
		Status: status, Shape: f.Shape, Type: cmp.Or(f.Type, defaultTypes[status], "serviceError"),
		Field: "request", Message: http.StatusText(status), CustomerID: id,
	}.Write(w)
}

// defaultTypes are the values of the member type by status.
var defaultTypes = map[int]string{
	http.StatusBadRequest:      "invalidArgument",
	http.StatusUnauthorized:    "invalidLicense",
	http.StatusForbidden:       "invalidProduct",
	http.StatusNotFound:        "invalidRelease",
	http.StatusTooManyRequests: "tooManyRequests",
}

// typeOf guesses the media type of a body.
func typeOf(body string) string {
	switch {
	case body == "":
		return ""
	case strings.ContainsAny(body[:1], `{["`):
		return "application/json; charset=utf-8"
	case body[0] == '<':
		return "text/html; charset=utf-8"
	}
	return "text/plain; charset=utf-8"
}

// shapes are the bodies of KindShape.
var shapes = map[string]func(w http.ResponseWriter, r *http.Request, id string){
	"html":     fixedShape("text/html; charset=utf-8", string(wire.HTMLPage("Please sign in", "This network asks for a password."))),
	"object":   fixedShape("application/json; charset=utf-8", `{"value":"unexpected"}`),
	"nonsense": fixedShape("application/json; charset=utf-8", "]]}{ neither JSON nor hex \x00\xfe"),
	"empty":    fixedShape("application/json; charset=utf-8", ""),
	"error": fixedShape("application/json; charset=utf-8",
		`{"type":"invalidLicense","message":"The license does not hold.","more_info":""}`),
	"null": fixedShape("application/json; charset=utf-8", "null"),
	"echo": func(w http.ResponseWriter, _ *http.Request, id string) {
		wire.Write(w, http.StatusOK, "application/json; charset=utf-8", wire.EchoBody(id))
	},
	"huge": func(w http.ResponseWriter, r *http.Request, _ string) { hugeShape(w, r) },
}

func shapeNames() []string { return slices.Sorted(maps.Keys(shapes)) }

func fixedShape(contentType, body string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		wire.Write(w, http.StatusOK, contentType, []byte(body))
	}
}

// hugeSize is above the 64 MiB that clients allow for a list, in bytes.
const hugeSize = 65 << 20

// hugeShape streams well-formed JSON of the type that the endpoint returns.
func hugeShape(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	first, unit, last := hugeParts(r)
	chunk := bytes.Repeat([]byte(unit), 1+(64<<10)/len(unit))
	_, err := w.Write([]byte(first))
	for sent := 0; sent < hugeSize && err == nil; sent += len(chunk) {
		_, err = w.Write(chunk)
	}
	if err == nil {
		_, _ = w.Write([]byte(last)) // it fails when the client is gone
	}
}

// hugeParts returns the beginning, the repeated part and the end of a huge answer.
func hugeParts(r *http.Request) (first, unit, last string) {
	verb, _, _ := strings.Cut(strings.TrimPrefix(strings.ToLower(r.URL.Path), "/"), "/")
	switch {
	case slices.Contains(hosts[2:], verb): // the paths of the other services begin with their names
		return `{"Message":"`, "0123456789abcdef", `"}`
	case verb == "releases" || verb == "manifestreleases":
		return `["2026.10"`, `,"2026.09"`, `]`
	case verb == "metadata":
		return `{"FileName":"a"`, `,"Comment":"0123456789abcdef"`, `}`
	case catalogue.IsHashType(strings.ToUpper(verb)):
		return `"`, "0123456789abcdef", `"`
	}
	unit = `,"http://` + r.Host + `/Download/Data/2026.10/mdAddr.dat/?ID=0"`
	return "[" + unit[1:], unit, "]"
}
