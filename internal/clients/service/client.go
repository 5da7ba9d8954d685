package service

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"syncd/internal/clients/transport"
	"syncd/internal/clients/wire"
	"syncd/internal/manifest/refusal"
)

// Limits of answers, in bytes. Real answers of the five services have a few
// million bytes. A text needs no more memory than its length, a parsed body does.
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
	jsonp      *transport.Client // nil if the service has no JSONP address
}

// Config holds the parts of a Client.
type Config struct {
	Name       string // of the service, for errors and metrics
	Prefix     string // the vendor's word
	CustomerID string
	Web        *transport.Client // sends GETs with the Customer ID
	JSONP      *transport.Client // the same for the JSONP address; may be nil
}

// New returns a client that sends its requests through cfg.Web.
func New(cfg Config) *Client {
	return &Client{name: cfg.Name, prefix: cfg.Prefix, customerID: cfg.CustomerID, web: cfg.Web, jsonp: cfg.JSONP}
}

// Connect returns a client for the service with that name. cfg.Base is the
// address of the service; jsonp is its JSONP address, or nil. Connect fails
// without an address. It sends nothing.
func Connect(name, prefix string, cfg transport.Config, jsonp *url.URL) (*Client, error) {
	if cfg.Base == nil {
		return nil, fmt.Errorf("the %s service has no address: set services.%s.url in the configuration", name, name)
	}
	cfg.IDParam = cmp.Or(cfg.IDParam, "id")
	web, err := transport.New(cfg)
	if err != nil {
		return nil, err
	}
	own := Config{Name: name, Prefix: prefix, CustomerID: cfg.CustomerID, Web: web}
	if jsonp != nil {
		cfg.Base = jsonp
		if own.JSONP, err = transport.New(cfg); err != nil {
			return nil, err
		}
	}
	return New(own), nil
}

// Prefix returns the vendor's word in the names of this client's bodies.
func (c *Client) Prefix() string { return c.prefix }

// Redactor returns the Redactor for the client's Customer ID.
func (c *Client) Redactor() transport.Redactor { return c.web.Redactor() }

// Close closes idle connections.
func (c *Client) Close() {
	c.web.Close()
	if c.jsonp != nil {
		c.jsonp.Close()
	}
}

// encode returns the request of a call and the transport that sends it.
func (c *Client) encode(call *Call) (*transport.Client, transport.Request, error) {
	t := c.web
	if call.Form.JSONP {
		t = c.jsonp
	}
	if t == nil {
		return nil, transport.Request{}, &InputError{call.Operation.Name, "the JSONP address is not configured: set jsonp_url"}
	}
	req, err := call.request(c.name, c.customerID)
	return t, req, err
}

// Send sends a call that Check has prepared. Errors are those of
// transport.Client, refusals of answers with an unexpected shape, and
// *AnswerError. The answer is returned with an *AnswerError too.
func (c *Client) Send(ctx context.Context, call *Call) (*Answer, error) {
	t, req, err := c.encode(call)
	if err != nil {
		return nil, err
	}
	_, body, err := t.Do(ctx, req)
	if err != nil {
		return nil, withoutAnswer(call.Operation, err)
	}
	redact := t.Redactor()
	value, err := call.parse(body)
	if err != nil {
		return nil, &transport.Error{
			Kind: transport.Malformed, Endpoint: c.name, Path: "/" + call.Operation.Name,
			Err: &refusal.Error{Reason: refusal.ReasonOf(err), Err: redact.Error(err)},
		}
	}
	codes, err := c.judge(call.Operation, value, redact) // before redaction, which could change a code if the Customer ID is short
	value = wire.Map(value, redact.ForNames().String, redact.String)
	return &Answer{Raw: redact.Body(body), Value: value, Codes: codes}, err
}

// withoutAnswer adds to an error that the provider may have taken a submission.
func withoutAnswer(op *Operation, err error) error {
	if op.Writes && transport.IsTransient(err) {
		return fmt.Errorf("%w: the submission may have been accepted: ask the provider before sending it again", err)
	}
	return err
}

// Do makes a typed call. It turns request into the members of a body, and the
// answer into an R, which must embed Answer. Errors are those of Check and Send;
// the R is returned with an *AnswerError too.
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

// Read returns the R that Do would return for a body. Errors are refusals.
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

// Preview is the request of a call, without the Customer ID.
type Preview struct {
	Method string
	URL    string
	Header http.Header
	Body   []byte // nil with GET
}

// Preview returns the request that Send would send, and sends nothing. Its error
// is an *InputError.
func (c *Client) Preview(call *Call) (*Preview, error) {
	t, req, err := c.encode(call)
	if err != nil {
		return nil, err
	}
	return &Preview{
		Method: req.Method, URL: t.ShownURL(t.URL(req), req),
		Header: req.Header, Body: t.Redactor().Body(req.Body),
	}, nil
}

// idMark stands for the Customer ID in the body of a command of curl.
const idMark = "a3f1c0de-the-customer-id-9b27e4d5"

// Curl returns a command for a shell that has curl send what Send would send, with the
// Customer ID from a variable of the shell. It sends nothing. Its error is an *InputError.
func (c *Client) Curl(call *Call, variable string) (string, error) {
	own := *c
	own.customerID = idMark
	t, req, err := own.encode(call)
	if err != nil {
		return "", err
	}
	return t.Curl(req, idMark, variable), nil
}
