package emulator

import (
	"fmt"
	"net/http"
	"time"
)

// inject answers a request of the caller id with a fault. w is the recorder, so
// that the log shows the bytes really sent.
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

// editHeaders serves a normal answer with other headers. next gets the request
// without the headers that a server of this kind ignores.
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
	case KindDate:
		edited.edit = f.setDate
	}
	r = r.Clone(r.Context()) // the log keeps the original headers
	for _, name := range ignored {
		r.Header.Del(name)
	}
	next.ServeHTTP(edited, r)
}

// setDate sets the header that net/http would set to the present time.
func (f Fault) setDate(h http.Header) {
	if h["Date"] = nil; f.Date == noDate {
		return
	}
	ahead, _ := time.ParseDuration(f.Date) // it was checked
	h.Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
}

// ignoredConditions returns the headers that compare a validator, for faults that
// remove or change it. Without them a range under If-Range becomes the whole content.
func ignoredConditions(r *http.Request) []string {
	names := []string{"If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range"}
	if r.Header.Get("If-Range") != "" {
		names = append(names, "Range")
	}
	return names
}

// shiftRange moves a Content-Range by one byte.
func shiftRange(h http.Header) {
	var first, last, size int64
	if n, _ := fmt.Sscanf(h.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &size); n == 3 {
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first+1, last+1, size))
	}
}

// headerEditor changes the headers right before they are sent.
type headerEditor struct {
	http.ResponseWriter
	edit  func(http.Header)
	flush bool // send them at once, so that net/http cannot add a length
}

func (w *headerEditor) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *headerEditor) WriteHeader(status int) {
	w.edit(w.Header())
	w.ResponseWriter.WriteHeader(status)
	if w.flush {
		_ = http.NewResponseController(w.ResponseWriter).Flush()
	}
}
