package service

import (
	"context"
	"fmt"
	"strings"

	"syncd/internal/clients/transport"
	"syncd/internal/clients/wire"
	"syncd/internal/refusal"
)

// Limits of answers, in bytes; honest ones of the five services have a few
// million. What is only text costs no more memory than its length.
const (
	maxBody = 16 << 20
	maxText = 64 << 20
)

// Client calls the operations of one service. Safe for concurrent use.
type Client struct {
	name       string
	prefix     string
	customerID string
	web        *transport.Client
	script     *transport.Client // nil when the service has no script address
}

// Config is what New needs.
type Config struct {
	Name       string // of the service, for errors and metrics
	Prefix     string // the vendor's word
	CustomerID string
	Web        *transport.Client // sends GETs with the Customer ID
	Script     *transport.Client // the same below the script address; may be nil
}

// New returns a client that sends its requests through cfg.Web.
func New(cfg Config) *Client {
	return &Client{name: cfg.Name, prefix: cfg.Prefix, customerID: cfg.CustomerID, web: cfg.Web, script: cfg.Script}
}

// Prefix is the vendor's word on this client's wire.
func (c *Client) Prefix() string { return c.prefix }

// Close drops idle connections.
func (c *Client) Close() {
	c.web.Close()
	if c.script != nil {
		c.script.Close()
	}
}

// Answer is what came back, without the Customer ID.
type Answer struct {
	Raw   []byte     // the body as it came
	Value wire.Value // the body taken apart; nil when it is no JSON or XML
	Codes Codes      // of the answer as a whole
}

func (a *Answer) keep(other Answer) { *a = other }

// Send makes a call that Check prepared. Its errors are those of
// transport.Client, refusals of answers that cannot be used, and *AnswerError,
// with which the answer is returned too.
func (c *Client) Send(ctx context.Context, call *Call) (*Answer, error) {
	t := c.web
	if call.Form.Script {
		if t = c.script; t == nil {
			return nil, &InputError{call.Operation.Name, "the script address is not configured (jsonp_url)"}
		}
	}
	req := call.request(c.name, c.customerID)
	_, body, err := t.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	redact := t.Redactor()
	value, err := call.parse(body)
	if err != nil {
		return nil, &transport.Error{
			Kind: transport.Malformed, Endpoint: c.name, Path: "/" + call.Operation.Name,
			Err: &refusal.Error{Reason: refusal.ReasonOf(err), Err: redact.Error(err)},
		}
	}
	answer := &Answer{Raw: redact.Bytes(body), Value: wire.Map(value, redact.String)}
	return answer, c.judge(call.Operation, answer)
}

// parse takes an answer apart.
func (c *Call) parse(body []byte) (wire.Value, error) {
	var v wire.Value
	var err error
	switch {
	case c.Form.Script:
		v, err = wire.ParseJSONP(body)
	case c.Form.Format == XMLs && !startsJSON(body):
		_, v, err = wire.ParseXML(body, c.Operation.XML.List)
	default:
		v, err = wire.ParseJSON(body)
	}
	if c.Operation.Text {
		return v, nil
	}
	if o, ok := v.(wire.Object); err == nil && (v != nil && !ok || ok && !isEnvelope(o)) {
		err = refusal.New(refusal.BadShape, "the answer is none of this service")
	}
	return v, err
}

// startsJSON is true for a body that a service sent in JSON against what was
// asked for.
func startsJSON(body []byte) bool {
	return strings.HasPrefix(strings.TrimSpace(string(body[:min(len(body), 64)])), "{")
}

// The members in which services carry codes and texts about an answer as a whole.
var (
	codeMembers = []string{"TransmissionResults", "Results", "ResultCode"}
	textMembers = []string{"ErrorString", "Message"}
	listMembers = []string{"Records", "Count", "TotalRecords"}
)

// isEnvelope is true for an object that has something of an answer: status 200
// alone is no proof of one.
func isEnvelope(o wire.Object) bool {
	for _, names := range [][]string{codeMembers, listMembers} {
		for _, name := range names {
			if o.Find(name) >= 0 {
				return true
			}
		}
	}
	return false
}

// judge reads the codes of an answer and tells whether it is a success.
func (c *Client) judge(op *Operation, a *Answer) error {
	o, _ := a.Value.(wire.Object) // null has no codes
	if op.Text {
		return nil
	}
	for _, name := range codeMembers {
		a.Codes = append(a.Codes, ParseCodes(o.Text(name))...)
	}
	if len(a.Codes.Of(Failure)) == 0 && (len(op.Success) == 0 || a.Codes.Has(op.Success...)) {
		return nil
	}
	failed := &AnswerError{Service: c.name, Operation: op.Name, Codes: a.Codes}
	for _, name := range textMembers {
		if text := o.Text(name); text != "" {
			failed.Message = transport.Printable(text)
		}
	}
	return failed
}

// Do makes a typed call: request is turned into the members of a body, and the
// answer into an R, which embeds Answer. The R is there with an *AnswerError too.
func Do[R any](ctx context.Context, c *Client, op *Operation, form Form, request any) (*R, error) {
	members, err := Members(request)
	if err != nil {
		return nil, &InputError{op.Name, err.Error()}
	}
	call, err := op.Check(form, members, c.prefix)
	if err != nil {
		return nil, err
	}
	answer, err := c.Send(ctx, call)
	if answer == nil {
		return nil, err
	}
	return typed[R](*answer, c.prefix), err
}

// Read is what Do makes of a body that answers a call, for those who have it
// from elsewhere. Its error is a refusal.
func Read[R any](op *Operation, form Form, prefix string, body []byte) (*R, error) {
	form, err := op.complete(form, nil)
	if err != nil {
		return nil, err
	}
	value, err := (&Call{Operation: op, Form: form}).parse(body)
	if err != nil {
		return nil, err
	}
	return typed[R](Answer{Raw: body, Value: value}, prefix), nil
}

// typed puts an answer into an R.
func typed[R any](answer Answer, prefix string) *R {
	r := new(R)
	keeper, ok := any(r).(interface{ keep(Answer) })
	if !ok {
		panic(fmt.Sprintf("service: %T does not embed Answer", r))
	}
	keeper.keep(answer)
	if o, ok := answer.Value.(wire.Object); ok {
		wire.Decode(o, r, prefix)
	}
	return r
}
