package emulator

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// inject answers a request of the caller id the way the fault wants it. w is the
// recorder, so that the log tells what was really sent.
func (e *Emulator) inject(f Fault, id string, w http.ResponseWriter, r *http.Request, next http.Handler) {
	switch f.Kind {
	case KindStatus, KindRedirect, KindBody, KindShape:
		answerFault(f, id, w, r)
	case KindDelay:
		if !pause(r.Context(), f.Delay) {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	case KindReset:
		if f.After == 0 {
			e.reset(w)
			return
		}
		next.ServeHTTP(&cutter{ResponseWriter: w, left: f.After, end: func() { e.reset(w) }}, r)
	case KindTruncate:
		next.ServeHTTP(&cutter{ResponseWriter: w, left: f.After, end: func() {}}, r)
	case KindStall:
		next.ServeHTTP(&cutter{ResponseWriter: w, left: f.After, end: func() { <-r.Context().Done() }}, r)
	case KindCorrupt:
		next.ServeHTTP(&corrupter{ResponseWriter: w, at: f.After}, r)
	case KindSlow:
		next.ServeHTTP(&throttle{ResponseWriter: w, ctx: r.Context(), rate: f.Rate}, r)
	default:
		e.editHeaders(f, w, r, next)
	}
}

// answerFault gives an answer of the fault's own.
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
		writeBody(w, f.statusOr(http.StatusFound), "", nil)
	case KindBody:
		body := expand(f.Body)
		writeBody(w, f.statusOr(http.StatusOK), typeOf(body), []byte(body))
	case KindStatus:
		statusFault(f, w, id, expand(f.Body))
	}
}

func statusFault(f Fault, w http.ResponseWriter, id, body string) {
	status := f.statusOr(http.StatusServiceUnavailable)
	if body != "" {
		writeBody(w, status, typeOf(body), []byte(body))
		return
	}
	kind := f.Type
	if kind == "" {
		kind = usualTypes[status]
	}
	if kind == "" {
		kind = "serviceError"
	}
	problem{status: status, shape: f.Shape, kind: kind, field: "request", message: http.StatusText(status), id: id}.write(w)
}

// usualTypes are the values of type that go with a status.
var usualTypes = map[int]string{
	http.StatusBadRequest:      "invalidArgument",
	http.StatusUnauthorized:    "invalidLicense",
	http.StatusForbidden:       "invalidProduct",
	http.StatusNotFound:        "invalidRelease",
	http.StatusTooManyRequests: "tooManyRequests",
}

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
	"html":     fixedShape("text/html; charset=utf-8", string(htmlPage("Please sign in", "This network asks for a password."))),
	"object":   fixedShape("application/json; charset=utf-8", `{"value":"unexpected"}`),
	"nonsense": fixedShape("application/json; charset=utf-8", "]]}{ neither JSON nor hex \x00\xfe"),
	"empty":    fixedShape("application/json; charset=utf-8", ""),
	"error": fixedShape("application/json; charset=utf-8",
		`{"type":"invalidLicense","message":"The license does not hold.","more_info":""}`),
	"null": fixedShape("application/json; charset=utf-8", "null"),
	"echo": func(w http.ResponseWriter, _ *http.Request, id string) {
		writeBody(w, http.StatusOK, "application/json; charset=utf-8", echoBody(id))
	},
	"huge": func(w http.ResponseWriter, r *http.Request, _ string) { hugeShape(w, r) },
}

func shapeNames() []string {
	var names []string
	for name := range shapes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func fixedShape(contentType, body string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		writeBody(w, http.StatusOK, contentType, []byte(body))
	}
}

// echoBody holds the Customer ID in both forms in which it can leak.
func echoBody(id string) []byte {
	return asJSON(typeShape{
		Type:     "invalidLicense",
		Message:  "The license " + id + " does not hold.",
		MoreInfo: "https://provider.example/help?ID=" + url.QueryEscape(id),
	})
}

// hugeSize is more than any limit that a client may sensibly set for a list.
const hugeSize = 65 << 20

// hugeShape streams well-formed JSON of the kind that the endpoint gives.
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
		_, _ = w.Write([]byte(last)) // the client has gone: nobody to tell
	}
}

func hugeParts(r *http.Request) (first, unit, last string) {
	verb, _, _ := splitPath(r.URL.EscapedPath())
	switch verb = strings.ToLower(verb); {
	case slices.Contains(hosts[2:], verb): // a service beside, named by its path
		return `{"Message":"`, "0123456789abcdef", `"}`
	case verb == "releases" || verb == "manifestreleases":
		return `["2026.10"`, `,"2026.09"`, `]`
	case verb == "metadata":
		return `{"FileName":"a"`, `,"Comment":"0123456789abcdef"`, `}`
	case hashTypes[strings.ToUpper(verb)] != nil:
		return `"`, "0123456789abcdef", `"`
	}
	unit = `,"http://` + r.Host + `/Download/Data/2026.10/mdAddr.dat/?ID=0"`
	return "[" + unit[1:], unit, "]"
}

// reset ends the connection with a TCP reset, once the client's host has what
// was sent before: a reset throws away what is still on its way.
func (e *Emulator) reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if c, ok := conn.(*tls.Conn); ok {
		conn = c.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		e.drain(tcp)
		_ = tcp.SetLinger(0) // then it is a plain close
	}
	_ = conn.Close()
}

// drain waits until the other side has acknowledged all bytes. The limit is for
// a client that stopped reading for good.
func (e *Emulator) drain(c *net.TCPConn) {
	ctx, cancel := context.WithTimeout(e.ctx, 10*time.Second)
	defer cancel()
	for unsent(c) > 0 && pause(ctx, time.Millisecond) {
	}
}

// pause waits for d and returns whether ctx allowed all of it.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// cutter lets left bytes of the body through, calls end, and aborts. The
// headers, with the length of the whole, are those of the usual answer.
type cutter struct {
	http.ResponseWriter
	left int64
	end  func()
}

func (c *cutter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *cutter) Write(p []byte) (int, error) {
	if int64(len(p)) <= c.left {
		n, err := c.ResponseWriter.Write(p)
		c.left -= int64(n)
		return n, err
	}
	if c.left > 0 {
		_, _ = c.ResponseWriter.Write(p[:c.left]) // aborted anyway
	}
	_ = http.NewResponseController(c.ResponseWriter).Flush()
	c.end()
	panic(http.ErrAbortHandler)
}

// corrupter flips a bit of the byte at an offset of the whole content.
type corrupter struct {
	http.ResponseWriter
	at  int64
	pos int64 // offset of the next byte
}

func (c *corrupter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *corrupter) WriteHeader(status int) {
	var first, last int64
	if n, _ := fmt.Sscanf(c.Header().Get("Content-Range"), "bytes %d-%d/", &first, &last); n == 2 {
		c.pos = first
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *corrupter) Write(p []byte) (int, error) {
	if i := c.at - c.pos; i >= 0 && i < int64(len(p)) {
		p = bytes.Clone(p)
		p[i] ^= 1
	}
	n, err := c.ResponseWriter.Write(p)
	c.pos += int64(n)
	return n, err
}

// throttle sends the body at a rate, in pieces of a fiftieth of a second.
type throttle struct {
	http.ResponseWriter
	ctx  context.Context //nolint:containedctx // of this one request
	rate int64
}

func (t *throttle) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *throttle) Write(p []byte) (int, error) {
	piece := int(max(t.rate/50, 1))
	for sent := 0; sent < len(p); {
		k := min(piece, len(p)-sent)
		n, err := t.ResponseWriter.Write(p[sent : sent+k])
		sent += n
		if err != nil {
			return sent, err
		}
		_ = http.NewResponseController(t.ResponseWriter).Flush() // a fault shows at the next write
		if !pause(t.ctx, time.Duration(k)*time.Second/time.Duration(t.rate)) {
			panic(http.ErrAbortHandler)
		}
	}
	return len(p), nil
}

// editHeaders serves as usual but for some headers. The request that next sees
// lacks the headers that a server of that kind would not heed.
func (e *Emulator) editHeaders(f Fault, w http.ResponseWriter, r *http.Request, next http.Handler) {
	edited := &headerEditor{ResponseWriter: w}
	var ignored []string
	switch f.Kind {
	case KindNoRanges:
		ignored = []string{"Range", "If-Range"}
		edited.edit = func(h http.Header) { h.Del("Accept-Ranges") }
	case KindNoValidators:
		ignored = ignoredConditions(r)
		edited.edit = func(h http.Header) {
			h.Del("ETag")
			h.Del("Last-Modified")
		}
	case KindNoLength:
		edited.flush = true
		edited.edit = func(h http.Header) { h.Del("Content-Length") }
	case KindChangeETag:
		ignored = ignoredConditions(r)
		etag := fmt.Sprintf(`"changed-%d"`, e.etags.Add(1))
		edited.edit = func(h http.Header) { h.Set("ETag", etag) }
	case KindBadRange:
		edited.edit = shiftRange
	}
	r = r.Clone(r.Context()) // the log keeps the headers as they came
	for _, name := range ignored {
		r.Header.Del(name)
	}
	next.ServeHTTP(edited, r)
}

// ignoredConditions are the headers that cannot hold where the validator is
// gone or new; a range under If-Range then becomes the whole.
func ignoredConditions(r *http.Request) []string {
	names := []string{"If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range"}
	if r.Header.Get("If-Range") != "" {
		names = append(names, "Range")
	}
	return names
}

// shiftRange moves a Content-Range one byte on.
func shiftRange(h http.Header) {
	var first, last, size int64
	if n, _ := fmt.Sscanf(h.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &size); n == 3 {
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first+1, last+1, size))
	}
}

// headerEditor changes the headers at the last moment.
type headerEditor struct {
	http.ResponseWriter
	edit  func(http.Header)
	flush bool // send them at once, before net/http can work out a length
}

func (w *headerEditor) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *headerEditor) WriteHeader(status int) {
	w.edit(w.Header())
	w.ResponseWriter.WriteHeader(status)
	if w.flush {
		_ = http.NewResponseController(w.ResponseWriter).Flush()
	}
}
