package emulator

import (
	"fmt"
	"html"
	"net/http"
	"strconv"
)

// problem is an error answer.
type problem struct {
	status int
	shape  string // one of problemShapes; "" means type
	kind   string // the value of type in the shape "type"
	field  string // the argument at fault in the shape "title"
	// errors are the arguments at fault in the shape "title", in place of field.
	errors  map[string][]string
	message string
	id      string // the caller's, for the shape "echo"
}

const (
	shapeType  = "type"
	shapeTitle = "title"
	shapeEmpty = "empty"
	shapeHTML  = "html"
	shapeEcho  = "echo"
)

// problemShapes are the bodies that an error may have; html is a proxy's.
var problemShapes = []string{shapeType, shapeTitle, shapeEmpty, shapeHTML, shapeEcho}

type typeShape struct {
	Type     string `json:"type"`
	Message  string `json:"message"`
	MoreInfo string `json:"more_info"`
}

type titleShape struct {
	Type    string              `json:"type"`
	Title   string              `json:"title"`
	Status  int                 `json:"status"`
	Errors  map[string][]string `json:"errors"`
	TraceID string              `json:"traceId"`
}

func (p problem) write(w http.ResponseWriter) {
	contentType, body := p.body()
	writeBody(w, p.status, contentType, body)
}

func (p problem) body() (contentType string, body []byte) {
	switch p.shape {
	case shapeEmpty:
		return "", nil
	case shapeHTML:
		return "text/html; charset=utf-8", htmlPage(http.StatusText(p.status), p.message)
	case shapeTitle:
		return formatJSON.contentType(), asJSON(titleShape{
			Type:    fmt.Sprintf("https://httpstatuses.io/%d", p.status),
			Title:   p.message,
			Status:  p.status,
			Errors:  p.arguments(),
			TraceID: fmt.Sprintf("00-%016x-00", mix(uint64(p.status))),
		})
	case shapeEcho:
		return formatJSON.contentType(), echoBody(p.id)
	}
	return formatJSON.contentType(), asJSON(typeShape{Type: p.kind, Message: p.message, MoreInfo: "the documentation of the service"})
}

func (p problem) arguments() map[string][]string {
	if p.errors != nil {
		return p.errors
	}
	return map[string][]string{p.field: {p.message}}
}

func htmlPage(title, text string) []byte {
	return fmt.Appendf(nil, "<!DOCTYPE html>\n<html><head><title>%s</title></head><body><h1>%[1]s</h1><p>%s</p></body></html>\n",
		html.EscapeString(title), html.EscapeString(text))
}

// writeBody sends a whole answer with its length.
func writeBody(w http.ResponseWriter, status int, contentType string, body []byte) {
	if contentType != "" {
		w.Header().Set("Content-Type", contentType)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if len(body) > 0 {
		_, _ = w.Write(body) // the client has gone: nobody to tell
	}
}
