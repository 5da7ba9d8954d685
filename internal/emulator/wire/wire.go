package wire

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Format is a value of the query parameter format. The release service has
// further ones, all of plain text.
type Format string

// The formats that every service knows.
const (
	JSON Format = "json"
	XML  Format = "xml"
)

// ContentType returns the media type of a body in the format.
func (f Format) ContentType() string {
	switch f {
	case JSON:
		return "application/json; charset=utf-8"
	case XML:
		return "application/xml; charset=utf-8"
	}
	return "text/plain; charset=utf-8"
}

// Write sends an answer with its Content-Length. An empty contentType sends no
// Content-Type.
func Write(w http.ResponseWriter, status int, contentType string, body []byte) {
	if contentType != "" {
		w.Header().Set("Content-Type", contentType)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if len(body) > 0 {
		_, _ = w.Write(body) // it fails when the client is gone
	}
}

// EncodeJSON returns v in JSON. It panics on a value that JSON cannot hold.
// Ampersands stay as they are: the provider does not escape them.
func EncodeJSON(v any) []byte {
	w := newJSONWriter()
	w.value(v)
	return w.Bytes()
}

// jsonWriter collects several JSON values in one buffer.
type jsonWriter struct {
	bytes.Buffer
	encoder *json.Encoder
}

func newJSONWriter() *jsonWriter {
	w := new(jsonWriter)
	w.encoder = json.NewEncoder(&w.Buffer)
	w.encoder.SetEscapeHTML(false)
	return w
}

func (w *jsonWriter) value(v any) {
	if err := w.encoder.Encode(v); err != nil {
		panic(err)
	}
	w.Truncate(w.Len() - 1) // the encoder's line break
}

// EncodeXML returns v as an XML document. It panics on a value that XML cannot
// hold.
func EncodeXML(v any) []byte {
	b, err := xml.Marshal(v)
	if err != nil {
		panic(err)
	}
	return append([]byte(xml.Header), b...)
}

// HTMLPage returns a page with a heading and a paragraph, like a proxy's.
func HTMLPage(title, text string) []byte {
	return fmt.Appendf(nil, "<!DOCTYPE html>\n<html><head><title>%s</title></head><body><h1>%[1]s</h1><p>%s</p></body></html>\n",
		html.EscapeString(title), html.EscapeString(text))
}

// Decimal writes a coordinate or a distance: all services use six decimals.
func Decimal(v float64) string { return strconv.FormatFloat(v, 'f', 6, 64) }

// Parameter returns the first value of a query parameter, "" for none. Names
// are matched without case: the provider's own links spell id as ID.
func Parameter(query url.Values, name string) string {
	for key, values := range query {
		if strings.EqualFold(key, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}
