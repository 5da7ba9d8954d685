package service

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
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
	req, err := call.request(c.name, c.customerID)
	if err != nil {
		return nil, err
	}
	_, body, err := t.Do(ctx, req)
	if err != nil {
		return nil, unanswered(call.Operation, err)
	}
	redact := t.Redactor()
	value, err := call.parse(body)
	if err != nil {
		return nil, &transport.Error{
			Kind: transport.Malformed, Endpoint: c.name, Path: "/" + call.Operation.Name,
			Err: &refusal.Error{Reason: refusal.ReasonOf(err), Err: redact.Error(err)},
		}
	}
	codes, err := c.judge(call.Operation, value, redact) // before a short Customer ID garbles a code
	return &Answer{Raw: redact.Bytes(body), Value: wire.Map(value, redact.String), Codes: codes}, err
}

// unanswered says what a failure means for an operation that is sent once.
func unanswered(op *Operation, err error) error {
	if op.Writes && transport.IsTransient(err) {
		return fmt.Errorf("%w: it may have been taken all the same: ask the provider before sending it again", err)
	}
	return err
}

// parse takes an answer apart.
func (c *Call) parse(body []byte) (wire.Value, error) {
	var v wire.Value
	var err error
	switch {
	case c.Form.Format == File, c.Operation.Text && len(body) > maxBody:
		return nil, nil
	case c.Form.Script:
		v, err = wire.ParseJSONP(body)
	case c.Form.Format == XMLs && wire.IsXML(body):
		_, v, err = wire.ParseXML(body, c.Operation.XML.List)
	default:
		v, err = wire.ParseJSON(body)
	}
	o, isObject := v.(wire.Object)
	switch {
	case c.Operation.Text:
		if isPage(body) || messageOf(o) != "" {
			return nil, refusal.New(refusal.BadShape, "the answer is none of this service: %s", cmp.Or(messageOf(o), "a web page"))
		}
		return v, nil
	case err != nil:
		return nil, err
	case v == nil && c.Operation.Script: // seen in the wild, of these alone
	case !isObject || !isEnvelope(o):
		return nil, refusal.New(refusal.BadShape, "the answer is none of this service: %s", messageOf(o))
	}
	return v, nil
}

// The members in which services carry codes and texts about an answer as a whole.
var (
	codeMembers = []string{"TransmissionResults", "Results", "ResultCode"}
	textMembers = []string{"ErrorString", "message", "title"}
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

// judge reads the codes of an answer and tells whether it is a success. What it
// returns holds no Customer ID.
func (c *Client) judge(op *Operation, v wire.Value, redact transport.Redactor) (Codes, error) {
	if op.Text {
		return nil, nil
	}
	o, _ := v.(wire.Object) // null has no codes
	came := codesOf(o)
	success := len(came.Of(Failure)) == 0 && (len(op.Success) == 0 || came.Has(op.Success...))
	var shown Codes
	for _, code := range came {
		shown = append(shown, Code(redact.String(string(code))))
	}
	if success {
		return shown, nil
	}
	return shown, &AnswerError{Service: c.name, Operation: op.Name, Codes: shown, Message: redact.String(messageOf(o))}
}

// codesOf gathers the codes about an answer as a whole, also from a list of them.
func codesOf(o wire.Object) Codes {
	var codes Codes
	for _, m := range o {
		if !slices.ContainsFunc(codeMembers, func(name string) bool { return strings.EqualFold(name, m.Name) }) {
			continue
		}
		for _, item := range listOf(m.Value) {
			text, _ := wire.TextOf(item) // rows are none
			codes = append(codes, ParseCodes(text)...)
		}
	}
	return codes
}

// isPage is true for a web page, which proxies and sign-in walls send with
// status 200.
func isPage(body []byte) bool {
	begin := strings.ToLower(string(bytes.TrimSpace(body[:min(len(body), 256)])))
	return strings.HasPrefix(begin, "<!doctype html") || strings.HasPrefix(begin, "<html")
}

// messageOf is the text that an answer has for people.
func messageOf(o wire.Object) string {
	for _, name := range textMembers {
		if text := o.Text(name); text != "" {
			return transport.Printable(text)
		}
	}
	return ""
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
