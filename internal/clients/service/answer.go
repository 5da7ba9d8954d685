package service

import (
	"slices"
	"strings"

	"syncd/internal/clients/transport"
	"syncd/internal/clients/wire"
	"syncd/internal/manifest/refusal"
)

// Answer is the answer to a call, without the Customer ID.
type Answer struct {
	Raw   []byte     // the body as it came
	Value wire.Value // the parsed body; nil if it is neither JSON nor XML
	Codes Codes      // about the answer as a whole
}

func (a *Answer) keep(other Answer) { *a = other }

// parse parses an answer. Errors are refusals.
func (c *Call) parse(body []byte) (wire.Value, error) {
	if c.Form.Format == FormatFile || c.Operation.AnyShape && len(body) > maxBody {
		return nil, nil
	}
	if wire.IsPage(body) {
		return nil, refusal.New(refusal.BadShape, "a web page instead of data")
	}
	v, err := c.parseFormat(body)
	o, isObject := v.(wire.Object)
	switch {
	case c.Operation.AnyShape && messageOf(o) != "":
		return nil, unexpectedShape(o)
	case c.Operation.AnyShape:
		return v, nil // a plain list of lines is not JSON
	case err != nil:
		return nil, err
	case v == nil && c.Operation.JSONP: // the auto-complete service has been seen to answer null
		return v, nil
	case !isObject || !isEnvelope(o):
		return nil, unexpectedShape(o)
	}
	return v, nil
}

func (c *Call) parseFormat(body []byte) (wire.Value, error) {
	switch {
	case c.Form.JSONP:
		return wire.ParseJSONP(body)
	case c.Form.Format == FormatXML && wire.IsXML(body):
		return wire.ParseXML(body, c.Operation.XML.Schema)
	}
	return wire.ParseJSON(body)
}

// unexpectedShape refuses an answer, with its message if it has one.
func unexpectedShape(o wire.Object) error {
	if message := messageOf(o); message != "" {
		return refusal.New(refusal.BadShape, "unexpected response shape: %s", message)
	}
	return refusal.New(refusal.BadShape, "unexpected response shape")
}

// Members that hold the codes, the message and the records of an answer.
var (
	codeMembers    = []string{"TransmissionResults", "Results", "ResultCode"}
	messageMembers = []string{"ErrorString", "message", "title"}
	recordMembers  = []string{"Records", "Count", "TotalRecords"}
)

// isEnvelope is true for an object with a member that only answers have. Status
// 200 alone does not prove that the service itself has answered.
func isEnvelope(o wire.Object) bool {
	return slices.ContainsFunc(slices.Concat(codeMembers, recordMembers), func(name string) bool { return o.Find(name) >= 0 })
}

// judge reads the codes of an answer and returns an *AnswerError unless the
// answer is a success. Nothing that it returns holds the Customer ID.
func (c *Client) judge(op *Operation, v wire.Value, redact transport.Redactor) (Codes, error) {
	if op.AnyShape {
		return nil, nil
	}
	o, _ := v.(wire.Object) // null has no codes
	received := codesOf(o)
	success := len(received.Of(Failure)) == 0 && (len(op.Success) == 0 || received.Has(op.Success...))
	var shown Codes
	for _, code := range received {
		shown = append(shown, Code(redact.String(string(code))))
	}
	if success {
		return shown, nil
	}
	return shown, &AnswerError{Service: c.name, Operation: op.Name, Codes: shown, Message: redact.String(messageOf(o))}
}

// codesOf gathers the codes about an answer as a whole, from texts and lists.
func codesOf(o wire.Object) Codes {
	var codes Codes
	for _, m := range o {
		if !slices.ContainsFunc(codeMembers, func(name string) bool { return strings.EqualFold(name, m.Name) }) {
			continue
		}
		for _, item := range listOf(m.Value) {
			text, _ := wire.TextOf(item) // a record has no text: Results of some services are records
			codes = append(codes, ParseCodes(text)...)
		}
	}
	return codes
}

// messageOf returns the provider's text about an answer, or "".
func messageOf(o wire.Object) string {
	for _, name := range messageMembers {
		if text := o.Text(name); text != "" {
			return transport.Printable(text)
		}
	}
	return ""
}
