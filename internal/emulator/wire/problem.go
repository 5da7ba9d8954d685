package wire

import (
	"fmt"
	"net/http"
	"net/url"
)

// The shapes of a problem's body. The provider uses the first three, see
// docs/wire/releases.md, "Errors". The others exist for tests of clients.
const (
	ShapeType  = "type"  // {type, message, more_info}
	ShapeTitle = "title" // {type, title, status, errors, traceId}
	ShapeEmpty = "empty" // no body
	ShapeHTML  = "html"  // a proxy's page
	ShapeEcho  = "echo"  // ShapeType with the caller's Customer ID in it
)

// Shapes are all shapes, in the order of messages.
var Shapes = []string{ShapeType, ShapeTitle, ShapeEmpty, ShapeHTML, ShapeEcho}

// Problem is an error answer.
type Problem struct {
	Status  int
	Shape   string // one of Shapes; "" means ShapeType
	Type    string // the member type of ShapeType
	Message string
	// Field is the one input at fault in ShapeTitle. Errors replaces it where
	// several are.
	Field  string
	Errors map[string][]string
	// CustomerID is the caller's, for ShapeEcho.
	CustomerID string
}

// Empty returns a problem without a body.
func Empty(status int) Problem { return Problem{Status: status, Shape: ShapeEmpty} }

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

// Write sends the problem.
func (p Problem) Write(w http.ResponseWriter) {
	contentType, body := p.body()
	Write(w, p.Status, contentType, body)
}

func (p Problem) body() (contentType string, body []byte) {
	switch p.Shape {
	case ShapeEmpty:
		return "", nil
	case ShapeHTML:
		return "text/html; charset=utf-8", HTMLPage(http.StatusText(p.Status), p.Message)
	case ShapeTitle:
		return JSON.ContentType(), EncodeJSON(titleShape{
			Type:    fmt.Sprintf("https://httpstatuses.io/%d", p.Status),
			Title:   p.Message,
			Status:  p.Status,
			Errors:  p.inputs(),
			TraceID: fmt.Sprintf("00-%016x-00", p.Status),
		})
	case ShapeEcho:
		return JSON.ContentType(), EchoBody(p.CustomerID)
	}
	return JSON.ContentType(), EncodeJSON(typeShape{Type: p.Type, Message: p.Message, MoreInfo: "the documentation of the service"})
}

func (p Problem) inputs() map[string][]string {
	if p.Errors != nil {
		return p.Errors
	}
	return map[string][]string{p.Field: {p.Message}}
}

// EchoBody returns an error in JSON that holds a Customer ID as it is and in
// percent-encoding: a client must redact both.
func EchoBody(id string) []byte {
	return EncodeJSON(typeShape{
		Type:     "invalidLicense",
		Message:  "The license " + id + " does not hold.",
		MoreInfo: "https://provider.example/help?ID=" + url.QueryEscape(id),
	})
}
