package objectstore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"syncd/internal/clients/signature"
	"syncd/internal/host/rate"
)

// Place is a prefix of a bucket of a server.
type Place struct {
	Endpoint *url.URL
	Bucket   string
	Prefix   string // "" or ends in a slash
	Region   string
	Roots    *x509.CertPool // nil for the system's

	Credentials  *credentials.Credentials // nil for those that signature.Credentials finds
	StallTimeout time.Duration            // a connection that moves no byte for this long is given up
	Retry        Retry
	Bandwidth    *rate.Budget  // of what is sent, with other places; nil is unlimited
	Tell         func(Trouble) // is called for each attempt that is repeated, by several requests at once; may be nil
}

// CheckCredentials is nil if there are credentials. Without any, requests would be
// anonymous, and their errors would not say why.
func (s *Store) CheckCredentials() error {
	found, err := s.credentials.GetWithContext(nil)
	if err == nil && found.AccessKeyID == "" {
		err = errors.New("none found")
	}
	if err != nil {
		return fmt.Errorf("credentials for S3: %w: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, write ~/.aws/credentials, or give the instance a role", err)
	}
	return nil
}

// Connect returns the store at a place, and makes no request. mayWrite is asked before each
// request that changes something, and while its body is sent: its error ends the request, and
// no attempt follows. server remembers what is learned about the server.
func (p Place) Connect(mayWrite func() error, server *Server) (*Store, error) {
	mayWrite = refusing(mayWrite)
	keys := cmp.Or(p.Credentials, signature.Credentials())
	w := &wire{reads: p.transport(func() error { return nil }), writes: p.transport(mayWrite), mayWrite: mayWrite, keys: keys, server: server, bandwidth: p.Bandwidth}
	core, err := minio.NewCore(p.Endpoint.Host, &minio.Options{
		Creds: keys, Secure: p.Endpoint.Scheme == "https", Region: p.Region, Transport: w, MaxRetries: 1,
	})
	if err != nil {
		return nil, fmt.Errorf("publish.s3: %w", err)
	}
	return &Store{core: *core, credentials: keys, bucket: p.Bucket, prefix: p.Prefix, retry: p.Retry, tell: p.Tell, server: server}, nil
}

// answerPatience is how long a server may take to answer, at least: it may have to put
// together a large object.
const answerPatience = 5 * time.Minute

const maxIdle = 16 // connections

// transport returns a transport whose connections ask mayWrite before each write. A request
// can wait for its connection for long, such as while the process is stopped.
func (p Place) transport(mayWrite func() error) *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &impatientConn{c, max(p.StallTimeout, answerPatience), p.StallTimeout, mayWrite}, nil
		},
		TLSClientConfig:     &tls.Config{RootCAs: p.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 30 * time.Second,
		MaxIdleConnsPerHost: maxIdle,
		IdleConnTimeout:     time.Minute,
	}
}

// impatientConn is a connection whose reads and writes have deadlines.
type impatientConn struct {
	net.Conn
	read, write time.Duration
	mayWrite    func() error
}

func (c *impatientConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.read)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *impatientConn) Write(p []byte) (int, error) {
	if err := c.mayWrite(); err != nil {
		return 0, err
	}
	now := time.Now()
	if err := c.SetWriteDeadline(now.Add(c.write)); err != nil {
		return 0, err
	}
	if err := c.SetReadDeadline(now.Add(c.read)); err != nil { // a slow upload has no answer yet
		return 0, err
	}
	return c.Conn.Write(p)
}

// wire carries requests. It holds back those that mayWrite refuses.
type wire struct {
	reads    http.RoundTripper
	writes   http.RoundTripper
	mayWrite func() error
	keys     *credentials.Credentials
	server   *Server

	bandwidth *rate.Budget // nil is unlimited
}

// Server is what was learned about a server. Safe for concurrent use.
type Server struct {
	time      atomic.Int64 // of the last answer, in Unix seconds
	bareETags atomic.Bool  // it compares If-Match with the ETag without its quotes, as Ceph RGW 16 does
}

// reply is what Store wants to know of an answer besides minio's error.
type reply struct {
	retryAfter time.Duration
}

// maxPage is the longest answer that is no object, in bytes. A page of a list has at most
// 1000 names, and minio reads it whole.
const maxPage = 4 << 20

// maxTags bounds the elements of such an answer. minio makes some 600 bytes of each empty one
// that a list has. A name of a page that is no lie has under 40 tags.
const maxTags = 100_000

type replyKey struct{}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	job := BudgetOf(r.Context())
	if err := job.take(1, 0); err != nil {
		return nil, errors.Join(err, closeBody(r))
	}
	base := w.reads
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		base = w.writes
		if err := w.mayWrite(); err != nil {
			return nil, errors.Join(err, closeBody(r))
		}
		r = slowed(r, w.bandwidth)
		if w.server.bareETags.Load() && r.Header.Get("If-Match") != "" {
			r = r.Clone(r.Context())
			r.Header.Set("If-Match", strings.Trim(r.Header.Get("If-Match"), `"`))
			if err := signature.Again(r, w.keys); err != nil {
				return nil, errors.Join(err, closeBody(r))
			}
		}
	}
	res, err := base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	isObject := r.URL.RawQuery == "" && res.StatusCode < http.StatusMultipleChoices
	res.Body = &answer{res.Body, job, isObject, maxPage, maxTags}
	if date, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		w.server.time.Store(date.Unix())
	}
	if got, ok := r.Context().Value(replyKey{}).(*reply); ok {
		got.retryAfter = retryAfter(res)
	}
	return res, nil
}

// answer is the body of an answer, which is limited unless it is an object's.
type answer struct {
	io.ReadCloser
	budget   *Budget
	isObject bool
	left     int64 // bytes
	tags     int   // that may still come
}

func (a *answer) Read(b []byte) (n int, err error) {
	if !a.isObject {
		if b = b[:min(int64(len(b)), a.left)]; a.left <= 0 {
			return 0, &LocalError{fmt.Errorf("the server's answer has over %d bytes", maxPage)}
		}
	}
	n, err = a.ReadCloser.Read(b)
	a.left -= int64(n)
	if !a.isObject {
		if a.tags -= bytes.Count(b[:n], []byte("<")); a.tags < 0 {
			return 0, &LocalError{fmt.Errorf("the server's answer has over %d tags", maxTags)}
		}
	}
	if over := a.budget.take(0, int64(n)); over != nil {
		return 0, over
	}
	return n, err
}

func closeBody(r *http.Request) error {
	if r.Body == nil {
		return nil
	}
	return r.Body.Close()
}

// retryAfter is how long the server asked to wait.
func retryAfter(res *http.Response) time.Duration {
	seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, 1<<20)) * time.Second
}
